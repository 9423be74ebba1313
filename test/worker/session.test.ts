/** The session of a worker: held while it works, made again when it breaks, and no reason to lose a job. */
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

const ways = {
  'postgres.js': () => {
    const client = postgres(database.url, { max: 1, onnotice: () => {} });
    return { db: overPostgresJs({ client }), end: () => client.end() };
  },
  'node-postgres': () => {
    const client = new pg.Pool({ connectionString: database.url, max: 1 });
    return { db: overPg({ client }), end: () => client.end() };
  },
};

const locks = async () =>
  (
    await database.sql`
      select pid, objid::bigint::int8 as key from pg_locks
      where  locktype = 'advisory' and mode = 'ExclusiveLock' and objsubid = 2 and granted
        and  database = (select oid from pg_database where datname = current_database())`
  ).map(({ pid, key }) => ({ pid: Number(pid), key: Number(key) }));

describe.each(Object.entries(ways))('on %s', (_driver, connect) => {
  it('is there beside a pool of one, under the end of the worker’s name, until the worker stops', async () => {
    const { db, end } = connect();
    const { worker, seen, add } = await startTask(() => {}, { db });
    const own = Number.parseInt(worker.name.slice(-8), 16);
    const keys = async () => (await locks()).map(({ key }) => key).join();
    await until(async () => (await keys()) === String(own), { what: 'the lock, and none of the last test' });
    await add(1);
    await until(() => seen.completed.length, { what: 'a job' });
    await worker.stop();
    await until(async () => (await locks()).length === 0, { what: 'its end' });
    await end();
  });

  it('is made again when it is killed; until then heartbeats come at once', async () => {
    const { db, end } = connect();
    const gate = createGate();
    const { worker, seen, add } = await startTask(() => gate.passed, {
      db,
      heartbeatMs: 20_000,
      rescueAfterMs: 60_000,
    });
    const id = await add(1);
    await until(() => seen.claimed.length, { what: 'the claim' });
    await until(async () => (await locks()).length === 1, { what: 'the lock' });
    const [first] = await locks();
    const before = (await row(database.sql, id))?.heartbeatAt;

    await database.sql`select pg_terminate_backend(${first?.pid ?? 0})`;

    await until(async () => ((await row(database.sql, id))?.heartbeatAt ?? 0) > (before ?? 0), {
      what: 'a heartbeat',
    });
    await until(
      async () => (await locks()).some(({ pid, key }) => pid !== first?.pid && key === first?.key),
      {
        what: 'the lock again',
      },
    );
    gate.open();
    await until(() => seen.completed.length, { what: 'the job' });
    expect(seen).toMatchObject({ lost: [], rescued: [], error: [] });
    await worker.stop();
    await end();
  });
});

it('two workers of one table see each other and take nothing from each other', async () => {
  const gate = createGate();
  const options = { heartbeatMs: 20_000, rescueAfterMs: 60_000, slots: 1 };
  const workers = [await startTask(() => gate.passed, options), await startTask(() => gate.passed, options)];
  await until(async () => (await locks()).length === 2, { what: 'both locks' });
  for (const { add } of workers) await add(1);
  await until(() => workers.every(({ seen }) => seen.claimed.length === 1), { what: 'both jobs to run' });
  gate.open();
  await until(() => workers.every(({ seen }) => seen.completed.length === 1), { what: 'both jobs' });
  for (const { worker, seen } of workers) {
    await worker.stop();
    expect(seen).toMatchObject({ lost: [], rescued: [] });
  }
});
