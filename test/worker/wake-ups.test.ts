/** Workers that sleep for a minute between looks, and start their jobs at once all the same: told by NOTIFY, or in time. */
import { PGlite } from '@electric-sql/pglite';
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPglite } from 'drizzle-orm/pglite';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/executor.js';
import { channelOf } from '../../src/database/table-name.js';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { jobs } from '../../src/schema.js';
import { createWorker, type WorkerEvents } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';
import { readMigrations } from '../support/migrations.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { waitingForLock } from '../support/waiting.js';
import { createGate } from './gate.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { watch } = useWorkers(database);
const channel = channelOf(jobs);
const registry = defineJobs({
  task: job<{ n: number }>({ retry: () => 150 }),
  other: job().queue('other'),
});
const queue = createQueue(registry);
/** Nothing here can have been found by a look in time. */
const pollIntervalMs = 60_000;

type Handler = (payload: { n: number }, job: { signal: AbortSignal; attempt: number }) => unknown;

async function start(
  handler: Handler,
  options: { db?: Database; directDb?: Database; slots?: number; pollIntervalMs?: number } = {},
) {
  const { slots = 5, db = database.db, ...rest } = options;
  const worker = createWorker({
    db,
    registry,
    queues: { default: slots },
    handlers: { task: async (payload, job) => void (await handler(payload, job)) },
    pollIntervalMs,
    log: false,
    ...rest,
  });
  const seen = watch(worker);
  await worker.start();
  return { worker, seen };
}

/** A worker that listens and has nothing to do: its last look was after it began to listen. */
async function sleeping(handler: Handler, options: Parameters<typeof start>[1] = {}) {
  const started = await start(handler, options);
  await until(() => started.seen.listening.length, { what: 'the worker to listen' });
  return started;
}

/** The backends that hold a worker's lock, those that listen, once there are so many: some of the last test may still end. */
async function listeners(count: number): Promise<readonly { pid: number }[]> {
  let found: readonly { pid: number }[] = [];
  const all = async () => {
    found = await database.sql<{ pid: number }[]>`
      select pid from pg_locks
      where  locktype = 'advisory' and mode = 'ExclusiveLock'
        and  database = (select oid from pg_database where datname = current_database())`;
    return found.length === count;
  };
  await until(all, { what: `${count} that listen` });
  return found;
}

const ways = {
  'postgres.js': () => {
    const client = postgres(database.url, { max: 3, onnotice: () => {} });
    return { db: overPostgresJs({ client }), end: () => client.end() };
  },
  'node-postgres': () => {
    const client = new pg.Pool({ connectionString: database.url, max: 3 });
    return { db: overPg({ client }), end: () => client.end() };
  },
};

describe.each(Object.entries(ways))('a sleeping worker on %s', (_driver, connect) => {
  it('starts a job at its commit', async () => {
    const { db, end } = connect();
    const { worker, seen } = await sleeping(() => {}, { db });
    for (let n = 1; n <= 3; n++) {
      await db.transaction((tx) => queue.enqueue(tx, 'task', { n }));
      await until(() => seen.completed.length === n, { what: 'the job', timeoutMs: 5_000 });
    }
    await worker.stop();
    await end();
  });

  it('listens again when its backend is killed, and finds what came meanwhile', async () => {
    const { db, end } = connect();
    const { worker, seen } = await sleeping(() => {}, { db });
    const [session] = await listeners(1);
    await database.sql`select pg_terminate_backend(${session?.pid ?? 0})`;
    for (let n = 0; n < 10; n++) await queue.enqueue(db, 'task', { n });
    await until(() => seen.completed.length === 10, { what: 'the jobs', timeoutMs: 10_000 });
    await until(() => seen.listening.length === 2, { what: 'the worker to listen again' });
    await queue.enqueue(db, 'task', { n: 10 });
    await until(() => seen.completed.length === 11, { what: 'the next job', timeoutMs: 5_000 });
    await worker.stop();
    await end();
  });
});

it('one job is claimed by its id, two of a transaction by a look, and all of them start', async () => {
  const client = postgres(database.url, { max: 3, onnotice: () => {} });
  const claims: string[] = [];
  const logger = {
    logQuery(text: string) {
      if (text.includes("state        = 'running'"))
        claims.push(text.includes('with recursive') ? 'look' : 'by id');
    },
  };
  const db = overPostgresJs({ client, logger });
  const { worker, seen } = await sleeping(() => {}, { db });
  await queue.enqueue(database.db, 'task', { n: 0 }); // its first looks may still be under way
  await until(() => seen.completed.length === 1, { what: 'the first job', timeoutMs: 5_000 });
  claims.length = 0;
  await queue.enqueue(database.db, 'task', { n: 1 });
  await until(() => seen.completed.length === 2, { what: 'the job', timeoutMs: 5_000 });
  expect(claims).toContain('by id');
  claims.length = 0;
  await database.db.transaction(async (tx) => {
    for (const n of [2, 3, 4]) await queue.enqueue(tx, 'task', { n });
  });
  await until(() => seen.completed.length === 5, { what: 'those of the transaction', timeoutMs: 5_000 });
  await queue.enqueueMany(
    database.db,
    [5, 6].map((n) => ({ kind: 'task', payload: { n } })),
  );
  await until(() => seen.completed.length === 7, { what: 'those of a list', timeoutMs: 5_000 });
  expect(claims).toContain('look');
  await worker.stop();
  await client.end();
});

it('a sleeping worker on PGlite starts a job at its commit', async () => {
  const client = new PGlite();
  for (const migration of await readMigrations()) await client.exec(migration);
  const db = overPglite({ client });
  const { worker, seen } = await sleeping(() => {}, { db });
  await db.transaction((tx) => queue.enqueue(tx, 'task', { n: 1 }));
  await until(() => seen.completed.length, { what: 'the job', timeoutMs: 5_000 });
  await worker.stop();
  await client.close();
});

it('a worker that nobody told finds the job by looking', async () => {
  const { seen } = await sleeping(() => {}, { pollIntervalMs: 100 });
  await queue.enqueue(database.db, 'task', { n: 1 }, { wake: false });
  await until(() => seen.completed.length, { what: 'the job', timeoutMs: 5_000 });
});

it('a job of another queue wakes nobody here', async () => {
  const { seen } = await sleeping(() => {});
  await queue.enqueue(database.db, 'task', { n: 1 }, { wake: false });
  await queue.enqueue(database.db, 'other');
  await database.sql`select pg_notify(${channel}, 'work 1 1 other')`;
  await database.sql`select pg_notify(${channel}, 'nothing anybody knows')`;
  await database.sql`select pg_notify(${`${channel}0`}, 'work 1 1 default')`;
  // The answer to a later notice shows that the earlier ones were heard.
  expect(seen.claimed).toEqual([]);
  await database.sql`select pg_notify(${channel}, 'work 1 1 default')`;
  await until(() => seen.completed.length === 1, { what: 'the job', timeoutMs: 5_000 });
});

it('a wake-up during a claim has another follow', async () => {
  const { seen } = await sleeping(() => {});
  // The claims wait for this lock; the second job is committed after the first claim has begun.
  const locker = await database.sql.reserve();
  await locker`begin`;
  await locker`lock table jobs in share mode`;
  await database.sql`select pg_notify(${channel}, 'work 1 1 default')`;
  await until(async () => (await waitingForLock(database.sql, '%next as%')).length, {
    what: 'the claim to wait',
  });
  await locker`insert into jobs (kind, payload) values ('task', '{"n": 1}')`;
  await locker`select pg_notify(${channel}, 'work 1 2 default')`;
  await locker`commit`;
  locker.release();
  await until(() => seen.completed.length === 1, { what: 'the job', timeoutMs: 5_000 });
});

describe('a job that falls due later', () => {
  it('starts then, not at the next look: a delay', async () => {
    const startedAt: number[] = [];
    const { seen } = await sleeping(() => void startedAt.push(Date.now()));
    const enqueuedAt = Date.now();
    await queue.enqueue(database.db, 'task', { n: 1 }, { delayMs: 700 });
    await until(() => seen.completed.length, { what: 'the job', timeoutMs: 5_000 });
    expect((startedAt[0] ?? 0) - enqueuedAt).toBeGreaterThan(690);
    expect((startedAt[0] ?? 0) - enqueuedAt).toBeLessThan(3_000);
  });

  it('starts then: one that is nearer than another, and of a lower priority', async () => {
    const order: number[] = [];
    const { seen } = await sleeping(({ n }) => void order.push(n));
    await queue.enqueue(database.db, 'task', { n: 2 }, { delayMs: 900, priority: 5 });
    await queue.enqueue(database.db, 'task', { n: 1 }, { delayMs: 300, priority: -5 });
    await queue.enqueue(database.db, 'task', { n: 9 }, { runAt: '9999-12-31T00:00:00Z', priority: 9 });
    await until(() => seen.completed.length === 2, { what: 'the jobs', timeoutMs: 5_000 });
    expect(order).toEqual([1, 2]);
  });

  it('starts then: a retry, and a snooze', async () => {
    const attempts: number[] = [];
    const { seen } = await sleeping((_payload, { attempt }) => {
      attempts.push(attempt);
      if (attempt < 3) throw new Error('again');
    });
    await queue.enqueue(database.db, 'task', { n: 1 });
    await until(() => seen.completed.length, { what: 'the third attempt', timeoutMs: 5_000 });
    expect(attempts).toEqual([1, 2, 3]);
  });

  it('is found by a worker that starts before it is due', async () => {
    await queue.enqueue(database.db, 'task', { n: 1 }, { delayMs: 600 });
    const { seen } = await start(() => {});
    await until(() => seen.completed.length, { what: 'the job', timeoutMs: 5_000 });
  });

  it('that never falls due is no trouble', async () => {
    await database.sql`
      insert into jobs (kind, payload, run_at) values ('task', '{"n": 1}', 'infinity'), ('task', '{"n": 2}', '294276-12-31')`;
    const { seen } = await sleeping(() => {});
    await queue.enqueue(database.db, 'task', { n: 3 });
    await until(() => seen.completed.length, { what: 'the other job', timeoutMs: 5_000 });
    expect(seen.error).toEqual([]);
  });
});

describe('of several workers', () => {
  /** Workers that all have seen each other. */
  async function crew(size: number, slots: number, handler: Handler) {
    const workers = [];
    for (let n = 0; n < size; n++) workers.push(await sleeping(handler, { slots, db: database.db }));
    await listeners(size);
    return workers;
  }

  it('all get busy with a list that is long enough', async () => {
    const gate = createGate();
    const workers = await crew(4, 2, () => gate.passed);
    await queue.enqueueMany(
      database.db,
      Array.from({ length: 8 }, (_, n) => ({ kind: 'task' as const, payload: { n } })),
    );
    await until(() => workers.every(({ seen }) => seen.claimed.flatMap(({ jobs }) => jobs).length === 2), {
      what: 'all to be busy',
      timeoutMs: 5_000,
    });
    gate.open();
  });

  it('all get busy with jobs of which only the first was told: one wakes another', async () => {
    const gate = createGate();
    const workers = await crew(4, 1, () => gate.passed);
    await database.db.transaction(async (tx) => {
      for (let n = 0; n < 4; n++) await queue.enqueue(tx, 'task', { n });
    });
    await until(() => workers.every(({ seen }) => seen.claimed.length === 1), {
      what: 'all to be busy',
      timeoutMs: 5_000,
    });
    gate.open();
  });
});

it('a change of a running row that is told aborts its handler at once', async () => {
  const aborted = createGate();
  const { seen } = await sleeping(async (_payload, { signal }) => {
    signal.addEventListener('abort', () => aborted.open());
    await aborted.passed;
  });
  const { id } = await queue.enqueue(database.db, 'task', { n: 1 });
  await until(() => seen.claimed.length, { what: 'the claim' });
  await database.sql.begin(async (tx) => {
    await tx`update jobs set state = 'cancelled', locked_by = null, heartbeat_at = null, started_at = null, finished_at = now() where id = ${id}`;
    await tx`select pg_notify(${channel}, ${`changed ${id + 1} ${id}`})`;
  });
  await until(() => seen.lost.length, { what: 'the abort', timeoutMs: 2_000 });
  expect(seen.lost[0]?.job.id).toBe(id);
});

describe('a worker that cannot be told', () => {
  it('of which the network swallows what it would hear gives the connection up and hears again', async () => {
    const proxy = await startTcpProxy(database.url);
    const client = postgres(proxy.url, { max: 1, onnotice: () => {} });
    const { worker, seen } = await sleeping(() => {}, { directDb: overPostgresJs({ client }) });
    proxy.silenceSome(1);
    await queue.enqueue(database.db, 'task', { n: 1 });
    await until(() => seen.listening.length === 2, { what: 'the worker to listen again', timeoutMs: 15_000 });
    await until(() => seen.completed.length === 1, { what: 'the job', timeoutMs: 5_000 });
    await worker.stop();
    await client.end();
    await proxy.end();
  });

  it('says so where the database of `directDb` is another', async () => {
    const client = postgres(database.url.replace(/[^/]+$/, 'postgres'), { max: 1 });
    const { seen } = await start(() => {}, {
      directDb: overPostgresJs({ client }),
      pollIntervalMs: 100,
    });
    await until(() => seen.problem.some(({ code }) => code === 'DIRECT_DB_DIFFERS'), { what: 'the problem' });
    await queue.enqueue(database.db, 'task', { n: 1 });
    await until(() => seen.completed.length, { what: 'the job' });
    expect(seen.listening).toEqual([]);
    await client.end();
  });
});

it('the events have their types', () => {
  const event: WorkerEvents['listening'] = { channel };
  expect(event.channel).toMatch(/^drizzle_queue_[0-9a-f]{16}$/);
});
