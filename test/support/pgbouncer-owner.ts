/** A program that starts a PgBouncer, prints where it is, and stays: the runner that pooler.test.ts kills. */
import { startPgBouncer } from './postgres/pgbouncer.js';

async function own(server: string): Promise<void> {
  const { url, folder } = await startPgBouncer(server);
  // Stays as long as the test does: when that is gone too, stdin ends and so does this process.
  process.stdin.resume();
  console.log(JSON.stringify({ url, folder }));
}

own(process.argv[2] ?? '');
