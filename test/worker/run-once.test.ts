/** `runOnce()`: what is due is run within a budget, and nothing stays behind. */

import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/executor.js';
import { createQueue } from '../../src/queue/queue.js';
import { job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import { createWorker, type Worker } from '../../src/worker/worker.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { type TaskHandler, useWorkers } from './stage.js';

const database = useDatabase();
const { taskWorker, startTask, watch } = useWorkers(database);

const nothing = {
  completed: 0,
  failed: 0,
  discarded: 0,
  snoozed: 0,
  released: 0,
  rescued: 0,
  lost: 0,
  unwritten: 0,
  more: false,
};
/** Never ends by itself, but heeds its signal. */
const untilAborted: TaskHandler = (_, { signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

async function timed<Answer>(work: Promise<Answer>): Promise<{ answer: Answer; tookMs: number }> {
  const began = performance.now();
  const answer = await work;
  return { answer, tookMs: performance.now() - began };
}

describe('what is due', () => {
  it('is run to every end and told, and nothing else', async () => {
    const { worker, seen, add } = taskWorker(
      ({ n }, job) => {
        if (n === 1) throw new Error('it fails');
        if (n === 2) return job.snooze({ delayMs: 60_000 });
        if (n === 3) return job.discard('not worth it');
      },
      { retry: () => 60_000 },
    );
    for (const n of [0, 1, 2, 3, 4]) await add(n);
    const later = await add(5, { delayMs: 60_000 });
    expect(await worker.runOnce()).toEqual({ ...nothing, completed: 2, failed: 1, snoozed: 1, discarded: 1 });
    expect(await worker.runOnce()).toEqual(nothing);
    expect(await row(database.sql, later)).toMatchObject({ state: 'available', attempts: 0 });
    expect(seen.completed.map(({ job }) => job.attempt)).toEqual([1, 1]);
    expect({
      failed: seen.failed.length,
      started: seen.started,
      stopping: seen.stopping,
      stopped: seen.stopped,
    }).toEqual({ failed: 1, started: [], stopping: [], stopped: [] });
  });

  it('is more than there are slots, and what handlers enqueue, and retries that are due at once', async () => {
    let failures = 0;
    const { worker, add } = taskWorker(
      async ({ n }, { attempt }) => {
        if (n === 7 && attempt < 3) {
          failures++;
          throw new Error('again');
        }
        if (n < 3) await add(n + 100);
      },
      { slots: 2, retry: () => 0 },
    );
    for (let n = 0; n < 20; n++) await add(n);
    expect(await worker.runOnce()).toEqual({ ...nothing, completed: 23, failed: failures });
    expect(failures).toBe(2);
  });

  it('returns at once where there is nothing, however long the budget is', async () => {
    const { worker } = taskWorker(() => {});
    const { answer, tookMs } = await timed(worker.runOnce({ budgetMs: 60_000 }));
    expect(answer).toEqual(nothing);
    expect(tookMs).toBeLessThan(1_000);
  });

  it('is shared with other calls and workers: each job runs once', async () => {
    const ran: number[] = [];
    const workers = [1, 2, 3].map(() => taskWorker(({ n }) => void ran.push(n)));
    const [first] = workers;
    for (let n = 0; n < 60; n++) await first?.add(n);
    const results = await Promise.all(workers.map(({ worker }) => worker.runOnce()));
    expect(results.reduce((sum, { completed }) => sum + completed, 0)).toBe(60);
    expect([...ran].sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n));
  });
});

describe('the budget', () => {
  it('aborts and gives back what still runs at its end, and says that there is more', async () => {
    const { worker, seen, add } = taskWorker(untilAborted, { slots: 2 });
    const ids = [await add(1), await add(2), await add(3)];
    const { answer, tookMs } = await timed(worker.runOnce({ budgetMs: 3_000 }));
    expect(answer).toEqual({ ...nothing, released: 2, more: true });
    expect(tookMs).toBeLessThan(3_000);
    expect(seen.released).toMatchObject([{ started: true }, { started: true }]);
    const rows = await Promise.all(ids.map((id) => row(database.sql, id)));
    expect(rows.map((each) => [each?.state, each?.attempts])).toEqual([
      ['available', 1],
      ['available', 1],
      ['available', 0],
    ]);
  });

  it('is kept by a handler that ignores its signal', async () => {
    const go = createGate();
    const { worker, add } = taskWorker(() => go.passed);
    const id = await add(1);
    const { answer, tookMs } = await timed(worker.runOnce({ budgetMs: 3_000 }));
    go.open();
    expect(answer).toEqual({ ...nothing, released: 1, more: true });
    expect(tookMs).toBeLessThan(3_000);
    expect(await row(database.sql, id)).toMatchObject({ state: 'available', lockedBy: null });
  });

  it('is not begun again for jobs that would take longer than what is left of it', async () => {
    const started: number[] = [];
    const { worker, add } = taskWorker(
      async ({ n }) => {
        started.push(n);
        const until = performance.now() + 600; // of the 1,000 ms before the end
        while (performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
      },
      { slots: 1 },
    );
    for (const n of [1, 2, 3]) await add(n);
    expect(await worker.runOnce({ budgetMs: 3_000 })).toEqual({ ...nothing, completed: 1, more: true });
    expect(started).toEqual([1]);
  });

  it('heartbeats go on while a handler is at work', async () => {
    const go = createGate();
    const { worker, add } = taskWorker(() => go.passed, { rescueAfterMs: 1_000 });
    const id = await add(1);
    const once = worker.runOnce({ budgetMs: 20_000 });
    const renewed = async () => {
      const [pulse] = await database.sql`
        select 1 from jobs where id = ${id} and heartbeat_at > started_at + interval '1.2 seconds'`;
      return pulse;
    };
    await until(renewed, { what: 'heartbeats for longer than the rescue limit' });
    go.open();
    expect(await once).toEqual({ ...nothing, completed: 1 });
  });
});

describe('jobs of workers that died', () => {
  /** A job that a dead worker had. */
  async function dead(add: (n: number) => Promise<number>): Promise<number> {
    const id = await add(1);
    await database.sql`
      update jobs set state = 'running', locked_by = 'dead/1', attempts = 1, started_at = now() - interval '1 hour',
                      heartbeat_at = now() - interval '1 hour' where id = ${id}`;
    return id;
  }

  it('are rescued, for which it stays', async () => {
    const { worker, seen, add } = taskWorker(() => {}, { heartbeatMs: 300, rescueAfterMs: 1_000 });
    const id = await dead(add);
    await until(
      async () => {
        const [old] =
          await database.sql`select 1 where pg_postmaster_start_time() < now() - interval '1 second'`;
        return old;
      },
      { what: 'a server that has run for a second' },
    );
    expect(await worker.runOnce()).toEqual({ ...nothing, rescued: 1 });
    expect(seen.rescued).toMatchObject([{ id, lockedBy: 'dead/1', state: 'available' }]);
    expect(await row(database.sql, id)).toMatchObject({ state: 'available' });
  });

  it('are not waited for where their worker renews them meanwhile', async () => {
    const { worker, add } = taskWorker(() => {}, { heartbeatMs: 1_000, rescueAfterMs: 2_000 });
    const id = await dead(add);
    const once = worker.runOnce();
    await database.sql`update jobs set heartbeat_at = clock_timestamp() + interval '1 minute' where id = ${id}`;
    expect(await once).toEqual(nothing);
  });
});

describe('together with the rest of a worker', () => {
  it('a second call while one is under way gives the same answer', async () => {
    const { worker, add } = taskWorker(() => {});
    await add(1);
    const [one, two] = await Promise.all([worker.runOnce(), worker.runOnce({ budgetMs: 5_000 })]);
    expect(two).toBe(one);
    expect(one).toEqual({ ...nothing, completed: 1 });
  });

  it('it is refused after start(), and start() during it', async () => {
    const started = await startTask(() => {});
    await expect(started.worker.runOnce()).rejects.toMatchObject({ code: 'WORKER_BUSY' });
    const go = createGate();
    const other = taskWorker(() => go.passed);
    await started.worker.stop();
    await other.add(1);
    const once = other.worker.runOnce();
    await expect(other.worker.start()).rejects.toMatchObject({ code: 'WORKER_BUSY' });
    go.open();
    expect(await once).toEqual({ ...nothing, completed: 1 });
    await other.worker.start(); // afterwards it may
  });

  it('stop() ends it, and no other begins', async () => {
    const { worker, seen, add } = taskWorker(untilAborted);
    await add(1);
    const once = worker.runOnce({ budgetMs: 60_000 });
    await until(() => seen.claimed.length, { what: 'the claim' });
    const { tookMs } = await timed(worker.stop({ graceMs: 0 }));
    expect(tookMs).toBeLessThan(2_000);
    expect(await once).toEqual({ ...nothing, released: 1, more: true });
    await expect(worker.runOnce()).rejects.toMatchObject({ code: 'WORKER_STOPPED' });
  });

  it.each([null, 5, { budget: 50_000 }])('%j is refused in place of options', async (given) => {
    const { worker } = taskWorker(() => {});
    await expect(Reflect.apply(worker.runOnce, worker, [given])).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
  });

  it.each([2_999, 3_600_001, 'long'])('a budget of %s is refused', async (budgetMs) => {
    const { worker } = taskWorker(() => {});
    await expect(Reflect.apply(worker.runOnce, undefined, [{ budgetMs }])).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
  });
});

describe('the database', () => {
  it('has no session of it, during the call or after', async () => {
    const go = createGate();
    const { worker, seen, add } = taskWorker(() => go.passed);
    await add(1);
    const once = worker.runOnce();
    await until(() => seen.claimed.length, { what: 'the claim' });
    const held = () => database.sql`
      select 1 from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`;
    expect(await held()).toEqual([]);
    go.open();
    await once;
    expect(seen.listening).toEqual([]);
  });

  it('may be away for a moment', async () => {
    const proxy = await startTcpProxy(database.url);
    const client = postgres(proxy.url, { onnotice: () => {}, backoff: () => 0.05 });
    try {
      const { worker, seen, add } = taskWorker(() => {}, { db: drizzle({ client }) });
      await add(1);
      proxy.cut();
      const once = worker.runOnce({ budgetMs: 10_000 });
      await until(() => seen.error.length, { what: 'a claim that failed' });
      proxy.mend();
      expect(await once).toEqual({ ...nothing, completed: 1 });
    } finally {
      await client.end({ timeout: 0 });
      await proxy.end();
    }
  });

  it('rejects the call where it is away all the time', async () => {
    const client = postgres('postgres://127.0.0.1:1/nowhere', { backoff: () => 0.05 });
    const { worker } = taskWorker(() => {}, { db: drizzle({ client }) });
    const { tookMs } = await timed(
      worker.runOnce({ budgetMs: 3_000 }).then(
        () => expect.unreachable(),
        (error: unknown) => expect(error).toBeInstanceOf(Error),
      ),
    );
    expect(tookMs).toBeLessThan(3_000);
    await client.end({ timeout: 0 });
  });
});

describe('what is paused', () => {
  const registry = defineJobs({ first: job<{ n: number }>(), second: job<{ n: number }>().queue('other') });
  const queue = createQueue(registry);
  afterEach(async () => {
    await database.sql`truncate jobs, job_limits`;
  });

  function worker(
    handle: (kind: string, n: number) => unknown = () => {},
    db: Database = database.db,
  ): Worker {
    const made = createWorker({
      db,
      registry,
      queues: { default: 3, other: 3 },
      log: false,
      handlers: {
        first: async ({ n }) => void (await handle('first', n)),
        second: async ({ n }) => void (await handle('second', n)),
      },
    });
    watch(made);
    return made;
  }

  it('is left, and no reason to call again', async () => {
    await queue.pause(database.db, { queue: 'default' });
    await queue.enqueue(database.db, 'first', { n: 1 });
    await queue.enqueue(database.db, 'second', { n: 2 });
    expect(await worker().runOnce()).toEqual({ ...nothing, completed: 1 });
    await queue.pause(database.db, { kind: 'second' });
    const { answer, tookMs } = await timed(worker().runOnce({ budgetMs: 60_000 }));
    expect(answer).toEqual(nothing);
    expect(tookMs).toBeLessThan(1_000);
    await queue.resume(database.db, { queue: 'default' });
    expect(await worker().runOnce()).toEqual({ ...nothing, completed: 1 });
  });

  it('is all that there is after a fault: the call does not reject with that', async () => {
    await queue.pause(database.db, { queue: 'default' });
    await queue.pause(database.db, { queue: 'other' });
    const proxy = await startTcpProxy(database.url);
    const client = postgres(proxy.url, { onnotice: () => {}, backoff: () => 0.05 });
    try {
      const made = worker(() => {}, drizzle({ client }));
      let failed = false;
      made.on('error', () => {
        failed = true;
      });
      proxy.cut();
      const once = made.runOnce({ budgetMs: 10_000 });
      await until(() => failed, { what: 'a statement that failed' });
      proxy.mend();
      expect(await once).toEqual(nothing);
    } finally {
      await client.end({ timeout: 0 });
      await proxy.end();
    }
  });

  it('by a handler, is heeded within two seconds', async () => {
    let n = 0;
    const once = worker(async (kind) => {
      if (kind === 'second') return;
      n++;
      if (n === 1) await queue.pause(database.db, { kind: 'first' });
      await queue.enqueue(database.db, 'first', { n });
    });
    await queue.enqueue(database.db, 'first', { n: 0 });
    const { answer, tookMs } = await timed(once.runOnce({ budgetMs: 20_000 }));
    expect(answer).toMatchObject({ more: false, failed: 0 });
    expect(tookMs).toBeLessThan(3_500);
    expect(answer.completed).toBe(n);
  });
});

describe('queues', () => {
  const registry = defineJobs({ first: job<{ n: number }>(), second: job<{ n: number }>().queue('other') });
  const queue = createQueue(registry);
  afterEach(async () => {
    await database.sql`truncate jobs`;
  });

  it('that hand each other work are all emptied', async () => {
    const ran: string[] = [];
    const worker = createWorker({
      db: database.db,
      registry,
      queues: { default: 3, other: 3 },
      log: false,
      handlers: {
        first: async ({ n }) => {
          ran.push(`first ${n}`);
          await queue.enqueue(database.db, 'second', { n });
        },
        second: async ({ n }) => {
          ran.push(`second ${n}`);
          if (n < 3) await queue.enqueue(database.db, 'first', { n: n + 1 });
        },
      },
    });
    watch(worker);
    await queue.enqueue(database.db, 'first', { n: 1 });
    expect(await worker.runOnce()).toEqual({ ...nothing, completed: 6 });
    expect(ran).toEqual(['first 1', 'second 1', 'first 2', 'second 2', 'first 3', 'second 3']);
  });
});
