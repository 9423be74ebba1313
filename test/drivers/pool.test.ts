/** Pools: with one connection for everything, with none to spare, and what a worker does to one of node-postgres. */
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { createWorker } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';
import { networkedDrivers } from '../support/drivers.js';
import { until } from '../support/until.js';
import { createGate } from '../worker/gate.js';
import { queue, registry } from './app.js';
import type { AnyDatabase } from './stage.js';
import { withWorker } from './worker-stage.js';

const database = useDatabase();

interface Pool {
  readonly db: AnyDatabase;
  end(): Promise<void>;
}

const pools: { readonly [Name in (typeof networkedDrivers)[number]]: (max: number) => Pool } = {
  'postgres.js': (max) => {
    const client = postgres(database.url, { max, onnotice: () => {} });
    return { db: overPostgresJs({ client }), end: () => client.end() };
  },
  'node-postgres': (max) => {
    const client = new pg.Pool({ connectionString: database.url, max });
    return { db: overPg({ client }), end: () => client.end() };
  },
};

const add = (count: number) => {
  const list = Array.from(
    { length: count },
    () => ({ kind: 'task', payload: { does: 'complete' } }) as const,
  );
  return queue.enqueueMany(database.db, list);
};

describe.each(networkedDrivers)('on %s', (driver) => {
  it('one connection serves a worker, its handlers’ transactions and those who enqueue', async () => {
    const { db, end } = pools[driver](1);
    const seen = await withWorker(
      { db },
      (_, job) =>
        db.transaction(async (tx) => {
          if (job.attempt === 1) await queue.enqueue(tx, 'greet', job.id);
          await job.complete(tx);
        }),
      async (seen) => {
        for (const { id } of await add(20)) await db.transaction((tx) => queue.enqueue(tx, 'greet', id));
        await until(() => seen.completed?.length === 20, { what: 'all jobs' });
      },
      { queues: { tasks: 8 } },
    );
    expect(seen.error).toBeUndefined();
    expect(await database.sql`select 1 from jobs where kind = 'greet'`).toHaveLength(40);
    await database.sql`truncate jobs`;
    await end();
  });

  it('a pool that is all in use keeps the worker waiting, and costs nothing else', async () => {
    const { db, end } = pools[driver](2);
    const gate = createGate();
    const inUse = () => database.sql`
      select 1 from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`;
    const seen = await withWorker(
      { db },
      (_, job) => db.transaction((tx) => job.complete(tx)),
      async (seen) => {
        const holders = [1, 2].map(() =>
          db.transaction((tx) => queue.enqueue(tx, 'greet', null).then(() => gate.passed)),
        );
        await until(async () => (await inUse()).length === 2, { what: 'both connections to be in use' });
        await add(5);
        expect(seen.claimed).toBeUndefined();
        gate.open();
        await Promise.all(holders);
        await until(() => seen.completed?.length === 5, { what: 'all jobs' });
      },
    );
    expect(seen.error).toBeUndefined();
    await database.sql`truncate jobs`;
    await end();
  });
});

describe('on node-postgres', () => {
  const workerOn = (client: pg.Client | pg.Pool) =>
    createWorker({
      db: overPg({ client }),
      registry,
      queues: { tasks: 2 },
      kinds: ['task'],
      handlers: { task: () => {} },
      log: false,
    });

  it('a single client is refused for a worker', async () => {
    const client = new pg.Client(database.url);
    expect(() => workerOn(client)).toThrow(
      expect.objectContaining({ code: 'INVALID_EXECUTOR', message: expect.stringContaining('pg Pool') }),
    );
  });

  it('many workers on one pool listen to it once', async () => {
    const client = new pg.Pool({ connectionString: database.url, max: 3 });
    const workers = Array.from({ length: 12 }, () => workerOn(client));
    await Promise.all(workers.map((worker) => worker.start()));
    expect(client.listenerCount('error')).toBe(1);
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(client.listenerCount('error')).toBe(0);
    await client.end();
  });
});
