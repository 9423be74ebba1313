/** Jobs that a person cancels or removes while a worker has them, or is about to: the worker hears it, and nothing brings them back. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createQueue, defineJobs, job, type QueueError } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { type Task, useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);
const queue = createQueue(defineJobs({ task: job<Task>() }));
/** No heartbeat and no look of these workers comes in time to have done it. */
const rare = { heartbeatMs: 15_000, pollIntervalMs: 30_000 };

const stateOf = async (id: number) => (await row(database.sql, id))?.state;

it('the signal aborts within a second where the worker listens, also while all its slots are full', async () => {
  const reasons: unknown[] = [];
  const { seen, add } = await startTask(
    (_, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason);
          resolve();
        });
      }),
    { slots: 1, ...rare },
  );
  await until(() => seen.listening.length, { what: 'the worker to listen' });
  const [first, second] = [await add(1), await add(2)];
  await until(() => seen.claimed.length, { what: 'the claim' });

  const answer = await database.db.transaction((tx) => queue.cancel(tx, [first, second]));
  expect(answer.map(({ result }) => result)).toEqual(['done', 'done']);
  await until(() => seen.lost.length, { what: 'the signal', timeoutMs: 1_000 });

  expect(seen.lost.map((event) => event.job.id)).toEqual([first]);
  expect(reasons).toEqual([expect.objectContaining<Partial<QueueError>>({ code: 'JOB_LOST' })]);
  const third = await add(3);
  await until(() => seen.claimed.length === 2, { what: 'the free slot', timeoutMs: 1_000 });
  expect(seen.claimed[1]?.jobs.map(({ id }) => id)).toEqual([third]);
  expect([await stateOf(first), await stateOf(second)]).toEqual(['cancelled', 'cancelled']);
});

it('the signal aborts within a heartbeat where the notice is not heard', async () => {
  const { seen, add } = await startTask((_, { signal }) => aborted(signal), { heartbeatMs: 500 });
  await until(() => seen.listening.length, { what: 'the worker to listen' });
  const id = await add(1);
  await until(() => seen.claimed.length, { what: 'the claim' });
  // By plain SQL: nobody is told.
  await database.sql`
    update jobs set state = 'cancelled', finished_at = now(), locked_by = null, heartbeat_at = null, started_at = null`;
  await until(() => seen.lost.length, { what: 'the signal', timeoutMs: 1_500 });
  expect(await stateOf(id)).toBe('cancelled');
});

it.each(['resolves', 'throws'])(
  'a handler that ignores its signal and %s later changes nothing',
  async (how) => {
    const gate = createGate();
    const { seen, add } = await startTask(async () => {
      await gate.passed;
      if (how === 'throws') throw new Error('too late');
    });
    const id = await add(1);
    await database.sql`update jobs set dedupe_key = 'one' where id = ${id} and state = 'available'`;
    await until(() => seen.claimed.length, { what: 'the claim' });
    await database.sql`update jobs set dedupe_key = 'one' where id = ${id}`;
    await queue.cancel(database.db, id);
    await until(() => seen.lost.length, { what: 'the loss' });
    const left = await row(database.sql, id);
    // Its key is free.
    await database.sql`insert into jobs (kind, queue, dedupe_key) values ('task', 'other', 'one')`;
    gate.open();

    const next = await add(2);
    await until(() => seen.completed.length + seen.failed.length, { what: 'the next job' });
    expect([...seen.completed, ...seen.failed].map((event) => event.job.id)).toEqual([next]);
    expect(await row(database.sql, id)).toEqual(left);
    expect(left).toMatchObject({ state: 'cancelled', attempts: 1, lastError: null, errors: [] });
  },
);

it('a job that waits for its retry is cancelled and not retried', async () => {
  const { seen, add } = await startTask(
    () => {
      throw new Error('no luck');
    },
    { retry: () => 300 },
  );
  const id = await add(1);
  await until(() => seen.failed.length, { what: 'the failure' });
  expect(await queue.cancel(database.db, id)).toEqual({ id, result: 'done', state: 'cancelled' });
  await database.sql`update jobs set run_at = now() - interval '1 hour'`;
  await until(async () => (await add(2)) && seen.failed.length > 2, { what: 'others to run' });
  expect(seen.failed.filter((event) => event.job.id === id)).toHaveLength(1);
  expect(await stateOf(id)).toBe('cancelled');
});

it('a job that is cancelled while the worker stops is not given back', async () => {
  const { worker, seen, add } = await startTask((_, { signal }) => aborted(signal), { graceMs: 20_000 });
  const id = await add(1);
  await until(() => seen.claimed.length, { what: 'the claim' });
  const stopped = worker.stop();
  await queue.cancel(database.db, id);
  await stopped; // long before its grace is over
  expect(seen.lost.map((event) => event.job.id)).toEqual([id]);
  expect(seen.released).toEqual([]);
  expect(await stateOf(id)).toBe('cancelled');
});

it('a job that is cancelled at any moment of its claim runs to the end of its signal at most', async () => {
  let running = 0;
  const { seen, add } = await startTask(
    async (_, { signal }) => {
      running++;
      await aborted(signal);
      running--;
    },
    { slots: 200, ...rare },
  );
  await until(() => seen.listening.length, { what: 'the worker to listen' });
  for (let n = 0; n < 100; n++) {
    const id = await add(n);
    for (let turns = Math.random() * 40; turns > 0; turns--) await turn();
    await until(async () => (await queue.cancel(database.db, id)).result === 'done', { what: 'the cancel' });
  }
  expect(seen.claimed.length).toBeGreaterThan(10);
  await until(() => running === 0, { what: 'the last signal', timeoutMs: 1_500 });
  expect(await database.sql`select distinct state from jobs`).toEqual([{ state: 'cancelled' }]);
  expect([seen.completed, seen.failed, seen.error]).toEqual([[], [], []]);
});

it('a job that ends at the moment of its cancel does one of both', async () => {
  const ends: (() => void)[] = [];
  const { seen, add } = await startTask(() => new Promise<void>((resolve) => void ends.push(resolve)));
  const isOver = (id: number) => [...seen.completed, ...seen.lost].some((event) => event.job.id === id);
  const results = new Set<string>();
  for (let n = 0; n < 100; n++) {
    const id = await add(n);
    await until(() => ends.length > n, { what: 'the handler' });
    ends[n]?.();
    if (n === 0) await until(() => isOver(id), { what: 'the end before the cancel' });
    for (let turns = Math.random() * 20; turns > 0; turns--) await turn();
    const { result } = await queue.cancel(database.db, id);
    await until(() => isOver(id), { what: 'the end' });
    results.add(result);
    expect(await stateOf(id)).toBe(result === 'done' ? 'cancelled' : undefined);
    expect(seen.completed.some((event) => event.job.id === id)).toBe(result !== 'done');
  }
  expect(results).toContain('gone');
  expect([...results].filter((result) => !['done', 'gone', 'busy'].includes(result))).toEqual([]);
});

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
}
