/**
 * A program that starts an embedded Postgres, prints where it is, and stays: the runner that support.test.ts
 * kills.
 */
import { startEmbedded } from './postgres/index.js';

async function own(): Promise<void> {
  const { url, folder } = await startEmbedded();
  // Stays as long as the test does: when that is gone too, stdin ends and so does this process.
  process.stdin.resume();
  console.log(JSON.stringify({ url, folder }));
}

own();
