/**
 * Several workers that sleep for a minute between looks: whoever is told looks, whatever the others are doing, and what falls
 * due has somebody who looks for it. Found by attacks, each by the one that failed before.
 */
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { channelOf } from '../../src/database/table-name.js';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { jobs } from '../../src/schema.js';
import { lockOf } from '../../src/worker/session.js';
import { createWorker, type Worker } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';
import { given } from '../support/jobs.js';
import { freePort } from '../support/postgres/free-port.js';
import { until } from '../support/until.js';
import { waitingForLock } from '../support/waiting.js';
import { createGate } from './gate.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { watch } = useWorkers(database);
const channel = channelOf(jobs);
const registry = defineJobs({ task: job<{ n: number }>(), other: job<{ n: number }>() });
const queue = createQueue(registry);
const soon = { timeoutMs: 5_000 };

type Options = { slots?: number; heartbeatMs?: number };

const common = { registry, queues: { default: 1 }, pollIntervalMs: 60_000, log: false } as const;

async function crew(size: number, handler: (n: number) => unknown) {
  const workers = [];
  for (let n = 0; n < size; n++) workers.push(await sleeping(handler));
  return workers;
}

/** A worker that listens. */
async function sleeping(handler: (n: number) => unknown, { slots = 1, heartbeatMs }: Options = {}) {
  const run = async ({ n }: { n: number }) => void (await handler(n));
  const handlers = { task: run, other: run };
  return listening(
    createWorker({ ...common, db: database.db, queues: { default: slots }, handlers, heartbeatMs }),
  );
}

async function listening(worker: Worker) {
  const seen = watch(worker);
  await worker.start();
  await until(() => seen.listening.length, { what: 'the worker to listen' });
  return { worker, seen };
}

it('workers that stop are not counted on, from the moment they begin to', async () => {
  const gate = createGate();
  const started = createGate();
  const workers = await crew(4, () => {
    started.open();
    return gate.passed;
  });
  await queue.enqueue(database.db, 'task', { n: 0 });
  await started.passed;
  const busy = workers.findIndex(({ seen }) => seen.claimed.length > 0);
  const [last, ...stopping] = workers.filter((_, n) => n !== busy);
  const ends = [workers[busy], ...stopping].map((one) => one?.worker.stop());
  await until(() => stopping.every(({ seen }) => seen.stopped.length), { what: 'the idle ones to stop' });
  await queue.enqueue(database.db, 'task', { n: 1 });
  await until(() => last?.seen.claimed.length, { what: 'the last one to take the job', ...soon });
  gate.open();
  await Promise.all(ends);
});

it('workers of some kinds only all look, since a wake-up names none', async () => {
  const options = { ...common, db: database.db };
  for (let n = 0; n < 3; n++) {
    await listening(createWorker({ ...options, kinds: ['task'], handlers: { task: () => {} } }));
  }
  const { seen } = await listening(
    createWorker({ ...options, kinds: ['other'], handlers: { other: () => {} } }),
  );
  for (let n = 1; n <= 5; n++) {
    await queue.enqueue(database.db, 'other', { n });
    await until(() => seen.completed.length === n, { what: `job ${n}`, ...soon });
  }
});

it('of ten workers all get busy with ten jobs of which one was told', async () => {
  const gate = createGate();
  const workers = await crew(10, () => gate.passed);
  await database.db.transaction(async (tx) => {
    for (let n = 0; n < 10; n++) await queue.enqueue(tx, 'task', { n });
  });
  await until(() => workers.every(({ seen }) => seen.claimed.length === 1), {
    what: 'all to be busy',
    ...soon,
  });
  gate.open();
});

it('the job after the next one that falls due starts in time as well', async () => {
  const startedAt = new Map<number, number>();
  await crew(6, (n) => void startedAt.set(n, Date.now()));
  const enqueuedAt = Date.now();
  await queue.enqueueMany(
    database.db,
    [1, 2, 3, 4].map((n) => ({ kind: 'task', payload: { n }, delayMs: n * 400 })),
  );
  await until(() => startedAt.size === 4, { what: 'all of them', ...soon });
  for (const [n, at] of startedAt) expect(at - enqueuedAt).toBeLessThan(n * 400 + 2_000);
});

it('what a worker would have looked for when it stops is looked for by another: a retry', async () => {
  const failing = await sleeping(() => {
    throw new Error('no luck');
  });
  await queue.enqueue(database.db, 'task', { n: 1 });
  await until(() => failing.seen.failed.length, { what: 'the failure' });
  const { seen } = await sleeping(() => {});
  await failing.worker.stop();
  // The usual backoff after the first attempt: one to two seconds.
  await until(() => seen.completed.length, { what: 'the retry', ...soon });
});

it('a rescued job starts when its backoff is over', async () => {
  const { seen } = await sleeping(() => {}, { heartbeatMs: 100 });
  await given(database.sql).running({ kind: 'task', payload: { n: 1 }, heartbeatAgoS: 3_600, timeoutS: 1 });
  await until(() => seen.rescued.length, { what: 'the rescue', ...soon });
  await until(() => seen.completed.length, { what: 'the job', ...soon });
});

it('a look that waited for a lock does not keep the next from its job', async () => {
  const { seen } = await sleeping(() => {});
  for (const seed of [1, 2]) {
    const locker = await database.sql.reserve();
    await locker`begin`;
    await locker`lock table jobs`;
    await database.sql`select pg_notify(${channel}, ${`work 1 ${seed} default`})`;
    await until(async () => (await waitingForLock(database.sql, '%next as%', 0.5)).length, {
      what: 'the look to wait',
    });
    await locker`commit`;
    locker.release();
  }
  await queue.enqueue(database.db, 'task', { n: 1 });
  await until(() => seen.completed.length, { what: 'the job', ...soon });
});

it('a change that is told while a heartbeat is under way is looked at after it', async () => {
  const gate = createGate();
  const { seen } = await sleeping(() => gate.passed, { slots: 2 });
  const { id } = await queue.enqueue(database.db, 'task', { n: 1 });
  await queue.enqueue(database.db, 'task', { n: 2 });
  await until(() => seen.claimed.flatMap((one) => one.jobs).length === 2, { what: 'both' });
  const locker = await database.sql.reserve();
  await locker`begin`;
  await locker`lock table jobs`;
  await database.sql`select pg_notify(${channel}, ${`changed ${id + 1}`})`;
  await until(async () => (await waitingForLock(database.sql, '%heartbeat_at%')).length, {
    what: 'the heartbeat',
  });
  await locker`delete from jobs where id = ${id}`;
  await database.sql`select pg_notify(${channel}, ${`changed ${id}`})`;
  await locker`commit`;
  locker.release();
  await until(() => seen.lost.length, { what: 'the loss', ...soon });
  gate.open();
});

describe('a `directDb` that cannot be reached', () => {
  const port = freePort();
  const ways = {
    'postgres.js': async () =>
      overPostgresJs({ client: postgres(`postgres://nobody@127.0.0.1:${await port}/none`) }),
    'node-postgres': async () =>
      overPg({ client: new pg.Pool({ connectionString: `postgres://nobody@127.0.0.1:${await port}/none` }) }),
  };

  it.each(Object.entries(ways))('is told as an error, and the worker works: %s', async (_, connect) => {
    const worker = createWorker({
      db: database.db,
      directDb: await connect(),
      registry,
      queues: { default: 1 },
      handlers: { task: () => {}, other: () => {} },
      pollIntervalMs: 100,
      log: false,
    });
    const seen = watch(worker);
    await worker.start();
    await until(() => seen.error.filter(({ during }) => during === 'listen').length > 1, {
      what: 'the errors',
    });
    await queue.enqueue(database.db, 'task', { n: 1 });
    await until(() => seen.completed.length, { what: 'the job' });
  });
});

it('each worker has its own key in a group of its table', () => {
  expect(lockOf('public.jobs', 'host-1-00000000ff')).toEqual({ group: expect.any(Number), key: 255 });
});
