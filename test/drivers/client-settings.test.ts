/** Settings of the app's own client that change what drivers answer, and that jobs have to run under. */
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';

const database = useDatabase();
const registry = defineJobs({ greet: job<{ n: number }>({ retry: () => 0 }) });
const { enqueue } = createQueue(registry);

const settings = {
  'no array types': { fetch_types: false },
  'no prepared statements': { prepare: false },
  'int8 as bigint': { types: { bigint: postgres.BigInt } },
  'names in camel case': { transform: postgres.camel },
  'one connection': { max: 1 },
};

it.each(Object.keys(settings) as (keyof typeof settings)[])('postgres.js with %s', async (name) => {
  const client = postgres(database.url, { onnotice: () => {}, ...settings[name] });
  await runsJobs(overPostgresJs({ client }));
  await client.end();
});

it('node-postgres with int8 as bigint', async () => {
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === 20 ? BigInt : pg.types.getTypeParser(oid, format),
  };
  const client = new pg.Pool({ connectionString: database.url, types });
  await runsJobs(overPg({ client }));
  await client.end();
});

it('a single node-postgres client is refused for a worker', async () => {
  const client = new pg.Client(database.url);
  expect(() => workerOf(overPg({ client }))).toThrow(
    expect.objectContaining({ code: 'INVALID_EXECUTOR', message: expect.stringContaining('pg Pool') }),
  );
});

it('many workers on one node-postgres pool listen to it once', async () => {
  const client = new pg.Pool({ connectionString: database.url, max: 3 });
  const workers = Array.from({ length: 12 }, () => workerOf(overPg({ client })));
  await Promise.all(workers.map((worker) => worker.start()));
  expect(client.listenerCount('error')).toBe(1);
  await Promise.all(workers.map((worker) => worker.stop()));
  expect(client.listenerCount('error')).toBe(0);
  await client.end();
});

type Db = Parameters<typeof createWorker>[0]['db'];

function workerOf(db: Db) {
  return createWorker({
    db,
    registry,
    queues: { default: 2 },
    handlers: {
      greet: ({ n }, { attempt }) => {
        if (n === 2 && attempt === 1) throw new Error('no luck');
      },
    },
    pollIntervalMs: 20,
    heartbeatMs: 100,
    log: false,
  });
}

/** Three jobs, one of which fails once. */
async function runsJobs(db: Db): Promise<void> {
  const worker = workerOf(db);
  const [completed, failed, errors]: [number[], number[], unknown[]] = [[], [], []];
  worker.on('completed', (event) => completed.push(event.job.id));
  worker.on('failed', (event) => failed.push(event.job.id));
  worker.on('error', ({ error }) => errors.push(error));
  const enqueued = [];
  for (const n of [1, 2, 3]) enqueued.push(await enqueue(db, 'greet', { n }));
  await worker.start();
  await until(() => completed.length === 3, { what: `three jobs; ${errors.map(String)}` });
  await worker.stop();
  expect([...completed].sort()).toEqual(enqueued.map(({ id }) => id).sort());
  expect(failed).toEqual([enqueued[1]?.id]);
  expect(errors).toEqual([]);
}
