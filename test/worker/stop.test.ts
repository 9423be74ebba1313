/**
 * `stop()`: running jobs end within the grace, the rest is given back, and it takes no longer than it says.
 */
import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { claimsWait, row, verbatim } from '../support/jobs.js';
import { until } from '../support/until.js';
import { waitingForAdvisory } from '../support/waiting.js';
import { createGate } from './gate.js';
import { type TaskHandler, useWorkers } from './stage.js';

const database = useDatabase();
const { startTask, taskWorker } = useWorkers(database);

/** Never ends by itself, but heeds its signal. */
const untilAborted: TaskHandler = (_, { signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

async function timed(work: Promise<void>): Promise<number> {
  const began = performance.now();
  await work;
  return performance.now() - began;
}

describe('within the grace', () => {
  it('jobs end as ever, and no other is started', async () => {
    const go = createGate();
    const started: number[] = [];
    const { add, seen, worker } = await startTask(({ n }) => {
      started.push(n);
      return go.passed;
    });
    const id = await add(1);
    await until(() => seen.claimed.length, { what: 'the claim' });

    const stopping = worker.stop();
    const late = await add(2); // a claim that is on its way may take it, and then gives it back
    go.open();
    await stopping;

    expect(seen).toMatchObject({ stopping: [{ running: 1 }], stopped: [{ unwritten: 0 }] });
    expect(started).toEqual([1]);
    expect(await row(database.sql, id)).toBeUndefined();
    expect(await row(database.sql, late)).toMatchObject({ state: 'available', attempts: 0 });
  });

  it('heartbeats go on, so that nobody rescues a job that drains', async () => {
    const go = createGate();
    const options = { rescueAfterMs: 1_000, graceMs: 20_000 };
    const { add, seen, worker } = await startTask(() => go.passed, options);
    const id = await add(1);
    await until(() => seen.claimed.length, { what: 'the claim' });
    const other = await startTask(() => undefined, options);

    const stopping = worker.stop();
    const renewed = async () => {
      const [pulse] = await database.sql`
        select 1 from jobs where id = ${id} and heartbeat_at > started_at + interval '1.2 seconds'`;
      return pulse;
    };
    await until(renewed, { what: 'heartbeats for longer than the rescue limit' });
    go.open();
    await stopping;

    expect(seen.completed).toHaveLength(1);
    expect(other.seen).toMatchObject({ rescued: [], claimed: [] });
  });
});

describe('after the grace', () => {
  it('signals abort with WORKER_STOPPED, and jobs go back at once with their attempt counted', async () => {
    const reasons: unknown[] = [];
    const { add, seen, worker } = await startTask(async (payload, job) => {
      job.signal.addEventListener('abort', () => reasons.push(job.signal.reason));
      await untilAborted(payload, job);
    });
    const id = await add(1);
    await until(() => seen.claimed.length, { what: 'the claim' });

    await worker.stop({ graceMs: 0 });

    expect(reasons).toMatchObject([{ code: 'WORKER_STOPPED' }]);
    const job = await row(database.sql, id);
    expect(job).toMatchObject({ state: 'available', attempts: 1, lockedBy: null });
    expect(job?.runAt.getTime()).toBeLessThan(Date.now());
    expect(seen).toMatchObject({ released: [{ started: true }], failed: [] });
  });

  it('a handler that still resolves has completed its job', async () => {
    const handler: TaskHandler = (_, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    const { add, seen, worker } = await startTask(handler);
    const id = await add(1);
    await until(() => seen.claimed.length, { what: 'the claim' });

    await worker.stop({ graceMs: 0 });

    expect(seen).toMatchObject({ completed: [{ job: { id } }], released: [] });
    expect(await row(database.sql, id)).toBeUndefined();
  });

  it('a handler that ignores its signal is given up, and what it does later changes nothing', async () => {
    const late = createGate();
    const { add, seen, worker } = await startTask(() => late.passed);
    const id = await add(1);
    await until(() => seen.claimed.length, { what: 'the claim' });

    const tookMs = await timed(worker.stop({ graceMs: 100 }));
    const released = await row(database.sql, id);
    late.open();
    await late.passed;

    expect(tookMs).toBeLessThan(2_100);
    expect(released).toMatchObject({ state: 'available', attempts: 1 });
    expect(await row(database.sql, id)).toEqual(released);
  });

  it('the last attempt is not used up by a stop, but a job that outlives two is discarded', async () => {
    const first = await startTask(untilAborted);
    const id = await first.add(1, { maxAttempts: 1 });
    await until(() => first.seen.claimed.length, { what: 'the first claim' });
    await first.worker.stop({ graceMs: 0 });
    expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 1, maxAttempts: 1 });

    const second = await startTask(untilAborted);
    await until(() => second.seen.claimed.length, { what: 'the second claim' });
    await second.worker.stop({ graceMs: 0 });
    const lastError = 'the worker was stopped while the handler ran';
    expect(await row(database.sql, id)).toMatchObject({ state: 'discarded', attempts: 2, lastError });
    expect(second.seen.discarded).toMatchObject([{ job: { id }, error: { code: 'WORKER_STOPPED' } }]);
    expect([first.seen.released.length, second.seen.released.length]).toEqual([1, 0]);
  });
});

it.each([null, 5, { grace: 5 }, { graceMs: -1 }])('%j is refused in place of options', async (given) => {
  const { worker } = await startTask(() => undefined);
  await expect(Reflect.apply(worker.stop, worker, [given])).rejects.toMatchObject({ code: 'INVALID_OPTION' });
});

describe('called again', () => {
  it('gives the same promise', async () => {
    const { worker } = await startTask(() => undefined);
    const first = worker.stop();
    expect(worker.stop()).toBe(first);
    expect(worker.stop({ graceMs: 3_600_000 })).toBe(first);
    await first;
  });

  it('a shorter grace shortens the first, a longer one changes nothing', async () => {
    const { add, seen, worker } = await startTask(untilAborted);
    await add(1);
    await until(() => seen.claimed.length, { what: 'the claim' });
    const tookMs = timed(worker.stop({ graceMs: 600_000 }));
    void worker.stop({ graceMs: 0 });
    void worker.stop({ graceMs: 600_000 });
    expect(await tookMs).toBeLessThan(2_000);
    expect(seen.released).toHaveLength(1);
  });

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null])(
    'rejects a grace of %o',
    async (given) => {
      const { worker, seen } = await startTask(() => undefined);
      const stopping = worker.stop({ graceMs: given as number });
      await expect(stopping).rejects.toMatchObject({ code: 'INVALID_OPTION', data: { option: 'graceMs' } });
      expect(seen.stopping).toEqual([]);
    },
  );
});

describe('at odd times', () => {
  it('before start: the worker never starts', async () => {
    const { worker, seen } = taskWorker(() => undefined);
    await worker.stop();
    await expect(worker.start()).rejects.toMatchObject({ code: 'WORKER_STOPPED' });
    await expect(worker.run()).rejects.toMatchObject({ code: 'WORKER_STOPPED' });
    expect(seen.started).toEqual([]);
  });

  it('after it: start rejects', async () => {
    const { worker } = await startTask(() => undefined);
    await worker.stop();
    await expect(worker.start()).rejects.toMatchObject({ code: 'WORKER_STOPPED' });
  });

  it('during a claim: its jobs go back untouched', async () => {
    await claimsWait(database.sql);
    let runs = 0;
    const { add, seen, worker } = taskWorker(() => void runs++);
    const id = await add(1);
    let stopping = Promise.resolve();
    await database.sql.begin(async (holder) => {
      await holder`select pg_advisory_xact_lock(1)`;
      await worker.start();
      await until(async () => (await waitingForAdvisory(database.sql)).length, {
        what: 'the claim to be half-way',
      });
      stopping = worker.stop();
    });
    await stopping;
    await database.sql`drop function claim_waits cascade`;

    expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 0, errors: [] });
    expect(seen).toMatchObject({ claimed: [], lost: [], stopped: [{ unwritten: 0 }] });
    expect(runs).toBe(0);
  });
});

it('a claim that is answered after the stop goes back untouched, and its jobs keep their attempts', async () => {
  await claimsWait(database.sql);
  const { add, seen, worker } = taskWorker(() => undefined, { maxAttempts: 1 });
  const id = await add(1);
  const before = await verbatim(database.sql, id);
  await database.sql.begin(async (holder) => {
    await holder`select pg_advisory_xact_lock(1)`;
    await worker.start();
    await until(async () => (await waitingForAdvisory(database.sql)).length, {
      what: 'the claim to be half-way',
    });
    await worker.stop({ graceMs: 0 });
  });

  // Claimed and given back: the row is another version of what it was.
  const back = async () => {
    const now = await verbatim(database.sql, id);
    return now !== before && (await row(database.sql, id))?.state === 'available';
  };
  await until(back, { what: 'the job to come back' });
  await database.sql`drop function claim_waits cascade`;
  expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 0, errors: [] });
  expect(seen.claimed).toEqual([]);
});

it('listeners may stop the worker from any event', async () => {
  const { seen, worker } = taskWorker(() => undefined);
  for (const name of ['started', 'stopping', 'stopped'] as const) worker.on(name, () => void worker.stop());
  await worker.start();
  await worker.stop();
  expect([seen.started, seen.stopping, seen.stopped].map((events) => events.length)).toEqual([1, 1, 1]);
});
