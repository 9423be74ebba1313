/**
 * How many jobs run at once: never more than a queue's number, and no queue at the cost of another.
 */
import { expect, it } from 'vitest';
import { createQueue } from '../../src/queue/queue.js';
import { job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import { createWorker } from '../../src/worker/worker.js';
import { useDatabase } from '../support/database.js';
import { fill } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask, watch } = useWorkers(database);

const registry = defineJobs({ send: job<{ n: number }>().queue('mail'), index: job<{ n: number }>() });
const { enqueueMany } = createQueue(registry);
const list = (kind: 'send' | 'index', count: number) =>
  Array.from({ length: count }, (_, n) => ({ kind, payload: { n } }));

/** A worker with a number of slots for each of the two queues. */
async function startBoth(
  slots: { mail: number; default: number },
  work: (kind: string) => Promise<void> | void,
) {
  const worker = createWorker({
    db: database.db,
    registry,
    queues: slots,
    handlers: { send: () => work('send'), index: () => work('index') },
    pollIntervalMs: 20,
    log: false,
  });
  const seen = watch(worker);
  await worker.start();
  return seen;
}

it('never more jobs of a queue run at once than it has slots', async () => {
  const running = { send: 0, index: 0 };
  const most = { send: 0, index: 0 };
  const seen = await startBoth({ mail: 3, default: 7 }, async (kind) => {
    const name = kind === 'send' ? 'send' : 'index';
    most[name] = Math.max(most[name], ++running[name]);
    await database.sql`select 1`; // lets others start
    running[name]--;
  });
  await enqueueMany(database.db, [...list('send', 100), ...list('index', 100)]);
  await until(() => seen.completed.length === 200, { what: 'all jobs' });
  expect(most).toEqual({ send: 3, index: 7 });
});

it('a queue whose jobs hang does not keep the other waiting', async () => {
  const go = createGate();
  const seen = await startBoth({ mail: 2, default: 1 }, (kind) => (kind === 'send' ? go.passed : undefined));
  await enqueueMany(database.db, list('send', 50));
  await until(() => seen.claimed.flatMap(({ jobs }) => jobs).length === 2, {
    what: 'both slots to be taken',
  });
  await enqueueMany(database.db, list('index', 20));
  await until(() => seen.completed.length === 20, { what: 'the other queue' });
  expect(seen.completed.every(({ job: { queue } }) => queue === 'default')).toBe(true);
  go.open();
  await until(() => seen.completed.length === 70, { what: 'the rest' });
});

it('a long queue of high priority does not starve the other', async () => {
  const kinds: string[] = [];
  const seen = await startBoth({ mail: 1, default: 1 }, async (kind) => {
    kinds.push(kind);
    await database.sql`select 1`;
  });
  const urgent = list('send', 300).map((item) => ({ ...item, priority: 100 }));
  await enqueueMany(database.db, [...urgent, ...list('index', 10)]);
  await until(() => seen.completed.filter(({ job }) => job.kind === 'index').length === 10, {
    what: 'the few',
  });
  expect(kinds.filter((kind) => kind === 'send').length).toBeLessThan(300);
});

it('jobs start in the order of their priority, then of their time', async () => {
  const order: number[] = [];
  const { add, worker } = await startTask(({ n }) => void order.push(n), { slots: 1 });
  await worker.stop();
  await add(3);
  await add(4);
  await add(2, { priority: 5 });
  await add(1, { priority: 9 });
  const { seen } = await startTask(({ n }) => void order.push(n), { slots: 1 });
  await until(() => seen.completed.length === 4, { what: 'all four' });
  expect(order).toEqual([1, 2, 3, 4]);
});

it('free slots are filled in one claim', async () => {
  const go = createGate();
  await fill(database.sql).available(50, { kind: 'task' });
  const { seen } = await startTask(() => go.passed, { slots: 50 });
  await until(() => seen.claimed.length, { what: 'the claim' });
  expect(seen.claimed[0]?.jobs).toHaveLength(50);
  go.open();
});

it('a busy queue is not slowed down by an idle one beside it', async () => {
  const worker = createWorker({
    db: database.db,
    registry,
    queues: { mail: 2, default: 5 },
    handlers: { send: () => {}, index: () => {} },
    pollIntervalMs: 60_000,
    log: false,
  });
  const seen = watch(worker);
  await enqueueMany(database.db, list('send', 300));
  await worker.start();
  // In step with the pauses of the idle queue, 150 claims of two jobs would take hours.
  await until(() => seen.completed.length === 300, { what: 'all jobs', timeoutMs: 25_000 });
});

it('jobs that end while claims fail do not make it claim sooner', async () => {
  const ends: (() => void)[] = [];
  const { add, seen } = await startTask(() => new Promise((resolve) => ends.push(resolve)), { slots: 60 });
  await Promise.all(Array.from({ length: 60 }, (_, n) => add(n)));
  await until(() => ends.length === 60, { what: 'all jobs to run' });
  await database.sql`alter table jobs rename to away`;

  const began = performance.now();
  await until(() => ends.pop()?.() ?? ends.length === 0, { what: 'all handlers, one after the other' });
  const tookMs = performance.now() - began;
  const failed = seen.error.filter(({ during }) => during === 'claim').length;
  await database.sql`alter table away rename to jobs`;

  // The pauses double from 100 ms, each at least half of that; without them every end is a try.
  expect(failed).toBeLessThan(4 + tookMs / 100);
  await until(() => seen.completed.length === 60, { what: 'all ends' });
});
