/** What a worker says of a database that lacks something: once, and it works on as well as it can. */
import { drizzle } from 'drizzle-orm/postgres-js';
import { afterEach, expect, it } from 'vitest';
import { defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { connectAgain } from './connect-again.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask, watch } = useWorkers(database);

const changed = "create index jobs_claim on jobs (queue, priority desc, run_at, id) where state = 'running'";
const ours = "create index jobs_claim on jobs (queue, priority desc, run_at, id) where state = 'available'";
afterEach(() => database.sql.unsafe(`drop index jobs_claim; ${ours}`));

it('nothing of one that has all', async () => {
  const sent: string[] = [];
  const db = drizzle(database.url, { logger: { logQuery: (query) => void sent.push(query) } });
  const { worker, seen, add } = await startTask(() => {}, { db });
  await until(() => sent.some((query) => query.includes('pg_options_to_table')), { what: 'the check' });
  await add(1);
  await until(() => seen.completed.length, { what: 'the job' });
  await worker.stop();
  await db.$client.end();
  expect(seen).toMatchObject({ problem: [], error: [] });
});

it('names an index whose predicate was changed, and runs jobs all the same', async () => {
  await database.sql.unsafe(`drop index jobs_claim; ${changed}`);
  const { worker, seen, add } = await startTask(() => {});
  await until(() => seen.problem.length, { what: 'the problem' });
  await add(1);
  await until(() => seen.completed.length, { what: 'the job' });
  await worker.stop();
  expect(seen.problem).toEqual([
    expect.objectContaining({
      code: 'INDEX_DIFFERS',
      severity: 'warning',
      object: 'index "jobs_claim"',
      message: expect.stringContaining(
        "has the predicate `(state = 'running'::text)`, expected `state = 'available'`",
      ),
    }),
  ]);
});

it('in one line of the log each: a warning, or an error where something fails', async () => {
  await database.sql.unsafe(`drop index jobs_claim; ${changed}; alter table jobs drop column result`);
  const lines: string[] = [];
  const line = (level: string) => (text: string) => void lines.push(`${level} ${text}`);
  const worker = createWorker({
    db: database.db,
    registry: defineJobs({ task: job() }),
    queues: { default: 1 },
    handlers: { task: () => {} },
    log: { info: () => {}, warn: line('warn'), error: line('error') },
  });
  const seen = watch(worker);
  await worker.start();
  await until(() => seen.problem.length === 2, { what: 'the problems' });
  await worker.stop();
  await database.sql`alter table jobs add column result jsonb`;
  expect(lines).toEqual([
    expect.stringMatching(
      /^error drizzle-queue: There is no column "public"\."jobs"\."result"\. Run: npx drizzle-kit/,
    ),
    expect.stringMatching(
      /^warn drizzle-queue: The index "jobs_claim" on "public"\."jobs" has the predicate/,
    ),
  ]);
});

it('as soon as it can be reached', async () => {
  await database.sql.unsafe(`drop index jobs_claim; ${changed}`);
  const proxy = await startTcpProxy(database.url);
  proxy.cut();
  const through = connectAgain['node-postgres'](proxy.url);
  const { worker, seen } = await startTask(() => {}, { db: through.db });
  await until(() => seen.error.length > 1, { what: 'claims that fail' });
  expect(seen.problem).toEqual([]);
  proxy.mend();
  await until(() => seen.problem.length, { what: 'the problem' });
  await worker.stop();
  await through.end();
  await proxy.end();
  expect(seen.problem).toHaveLength(1);
  expect(seen.error.map(({ during }) => during)).not.toContain('check');
});

it('that it could not look, where reading the catalogs is forbidden', async () => {
  const role = `blind ${database.url.split('/').at(-1)}`;
  const { sql } = database;
  await sql`create role ${sql(role)} login password 'x'`;
  await sql`grant select, update, delete on jobs to ${sql(role)}`;
  await sql`revoke execute on function pg_get_expr(pg_node_tree, oid) from public`;
  const url = new URL(database.url);
  [url.username, url.password] = [encodeURIComponent(role), 'x'];
  const through = connectAgain['postgres.js'](url.href);
  const { worker, seen, add } = await startTask(() => {}, { db: through.db });
  await until(() => seen.error.length, { what: 'the error' });
  await add(1);
  await until(() => seen.completed.length, { what: 'the job' });
  await worker.stop();
  await through.end();
  expect(seen.error).toEqual([expect.objectContaining({ during: 'check', retryInMs: null })]);
  await sql`grant execute on function pg_get_expr(pg_node_tree, oid) to public`;
  await sql`drop owned by ${sql(role)}`;
  await sql`drop role ${sql(role)}`;
});
