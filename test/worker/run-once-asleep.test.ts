/** `runOnce()` against a server that has just started, as one does that sleeps between the calls. */
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { given } from '../support/jobs.js';
import { migrationsFolder } from '../support/migrations.js';
import { asAdmin, type EmbeddedPostgres, startEmbedded } from '../support/postgres/index.js';
import { useWorkers } from './stage.js';

let server: EmbeddedPostgres;
let sql: postgres.Sql;
beforeAll(async () => {
  server = await startEmbedded();
  await asAdmin(server.url, (admin) => migrate(drizzle({ client: admin }), { migrationsFolder }));
  sql = postgres(server.url, { onnotice: () => {} });
});
afterAll(async () => {
  await sql.end({ timeout: 1 });
  await server.stop();
});

const { taskWorker } = useWorkers({
  get sql() {
    return sql;
  },
  get db() {
    return drizzle({ client: sql });
  },
});

/** A dead worker had it when the server went to sleep. */
const asleep = { lockedBy: 'dead/1', attempts: 1, timeoutS: 4, heartbeatAgoS: 3_600 };
let id: number;
beforeEach(async () => {
  id = await given(sql).running(asleep);
  await server.restart('fast');
});

it('stays until the jobs of workers that died count as dead', async () => {
  const { worker, seen } = taskWorker(() => {}, { heartbeatMs: 200 });
  expect(await worker.runOnce()).toMatchObject({ rescued: 1, more: false });
  expect(seen.rescued).toMatchObject([{ id, lockedBy: 'dead/1' }]);
  const [uptime] =
    await sql`select extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float8 as s`;
  expect(uptime?.['s']).toBeGreaterThan(asleep.timeoutS);
});

it.each([
  ['that would be behind the budget', { timeoutS: 60, heartbeatAgoS: 3_600 }],
  ['for one whose worker may be alive', { timeoutS: 5, heartbeatAgoS: 1 }],
])('does not stay for a time %s', async (_what, { timeoutS, heartbeatAgoS }) => {
  await sql`
    update jobs set timeout_s = ${timeoutS}, heartbeat_at = now() - ${heartbeatAgoS} * interval '1 second'`;
  const { worker } = taskWorker(() => {}, { heartbeatMs: 200 });
  const began = performance.now();
  expect(await worker.runOnce()).toMatchObject({ rescued: 0, more: false });
  expect(performance.now() - began).toBeLessThan(4_000);
});
