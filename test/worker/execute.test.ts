/**
 * How one run of a handler becomes an outcome: its time limit, what it returns, and the calls of `job`.
 */
import { describe, expect, it } from 'vitest';
import type { QueueError } from '../../src/words/errors.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { type TaskHandler, useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

describe('the time limit', () => {
  it('fails the attempt, aborts the signal with its reason and frees the slot', async () => {
    const reasons: QueueError[] = [];
    const handler: TaskHandler = ({ n }, { signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      return n === 1 ? new Promise<void>(() => {}) : undefined;
    };
    const { add, seen } = await startTask(handler, { slots: 1, timeoutMs: 50 });

    const id = await add(1, { priority: 1 });
    await add(2);
    await until(() => seen.completed.length, { what: 'the job behind the one that hangs' });

    const { lastError, errors, ...job } = (await row(database.sql, id)) ?? {};
    expect(job).toMatchObject({ state: 'available', attempts: 1, lockedBy: null });
    expect(lastError).toContain('took longer than 50 ms');
    expect(errors).toHaveLength(1);
    expect(reasons).toMatchObject([{ code: 'HANDLER_TIMEOUT', data: { id, timeoutMs: 50 } }]);
  });

  it('is that of the enqueue, where that has one', async () => {
    const metas: unknown[] = [];
    const handler: TaskHandler = ({ n }, { meta }) => {
      metas.push(meta);
      return n === 1 ? new Promise<void>(() => {}) : undefined;
    };
    const { add, seen } = await startTask(handler, { slots: 1, timeoutMs: 3_600_000 });

    await add(1, { timeoutMs: 40, meta: { trace: 'a' }, maxAttempts: 1 });
    await until(() => seen.discarded.length, { what: 'the time limit' });
    await add(2);
    await until(() => seen.completed.length, { what: 'one without' });

    expect(seen.discarded[0]?.error).toMatchObject({ code: 'HANDLER_TIMEOUT', data: { timeoutMs: 40 } });
    expect(metas).toEqual([{ trace: 'a' }, undefined]);
  });

  it.each(['resolves', 'rejects'] as const)('ignores a handler that %s later', async (how) => {
    const late = createGate();
    const ended = createGate();
    const handler: TaskHandler = async () => {
      await late.passed;
      ended.open();
      if (how === 'rejects') throw new Error('too late');
    };
    const { add, seen, worker } = await startTask(handler, { timeoutMs: 30 });

    const id = await add(1);
    await until(() => seen.failed.length, { what: 'the time limit' });
    const before = await row(database.sql, id);
    late.open();
    await ended.passed;
    await worker.stop();

    expect(await row(database.sql, id)).toEqual(before);
    expect(seen).toMatchObject({ completed: [], discarded: [], lost: [], error: [] });
  });

  it('discards at the last attempt', async () => {
    const { add, seen } = await startTask(() => new Promise<void>(() => {}), { timeoutMs: 30 });
    const id = await add(1, { maxAttempts: 1 });
    await until(() => seen.discarded.length, { what: 'the discard' });
    expect(await row(database.sql, id)).toMatchObject({ state: 'discarded', attempts: 1 });
  });

  it('frees a slot held by a thenable that never calls back', async () => {
    // biome-ignore lint/suspicious/noThenProperty: what the test is about
    const thenable = { then() {} } as unknown as Promise<void>;
    const { add, seen } = await startTask(() => thenable, { slots: 1, timeoutMs: 30 });
    await add(1, { maxAttempts: 1 });
    await add(2, { maxAttempts: 1 });
    await until(() => seen.discarded.length === 2, { what: 'both time limits' });
  });
});

describe('a handler that returns', () => {
  it('has completed the job, and the row is gone', async () => {
    const { add, seen } = await startTask(() => undefined);
    const id = await add(1);
    await until(() => seen.completed.length, { what: 'the end' });
    expect(await row(database.sql, id)).toBeUndefined();
    expect(seen.completed).toMatchObject([{ job: { id, kind: 'task', queue: 'default', attempt: 1 } }]);
  });

  it('may return a circle, which is stored nowhere', async () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    const { add, seen } = await startTask(() => circle as unknown as void);
    await add(1);
    await until(() => seen.completed.length, { what: 'the end' });
    expect(seen).toMatchObject({ failed: [], error: [] });
  });
});

describe('an outcome call', () => {
  it('snoozes, and gives the attempt back', async () => {
    const { add, seen } = await startTask((_, job) => job.snooze({ delayMs: 60_000 }));
    const id = await add(1);
    await until(() => seen.snoozed.length, { what: 'the snooze' });
    expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 0, errors: [] });
    expect(seen.snoozed[0]?.dueInMs).toBeGreaterThan(50_000);
  });

  it('snoozes until an instant', async () => {
    const runAt = new Date('2100-01-01T00:00:00Z');
    const { add, seen } = await startTask((_, job) => job.snooze({ runAt }));
    const id = await add(1);
    await until(() => seen.snoozed.length, { what: 'the snooze' });
    expect(await row(database.sql, id)).toMatchObject({ state: 'available', runAt });
  });

  it('discards with its reason', async () => {
    const { add, seen } = await startTask((_, job) => job.discard('no such address'));
    const id = await add(1);
    await until(() => seen.discarded.length, { what: 'the discard' });
    const lastError = expect.stringContaining('no such address');
    expect(await row(database.sql, id)).toMatchObject({ state: 'discarded', attempts: 1, lastError });
  });

  const forgetful: Record<string, TaskHandler> = {
    'though `return` is forgotten': (_, job) => void job.discard('enough'),
    'though the handler throws after it': (_, job) => {
      job.discard('enough');
      throw new Error('another');
    },
    'though a catch swallows what follows': async (_, job) => {
      try {
        job.discard('enough');
        throw new Error('another');
      } catch {}
    },
    'though it is called without `job`': (_, { discard }) => discard('enough'),
  };
  it.each(Object.keys(forgetful))('counts %s', async (name) => {
    const { add, seen } = await startTask(forgetful[name] ?? (() => undefined));
    const id = await add(1);
    await until(() => seen.discarded.length, { what: 'the discard' });
    const lastError = expect.stringContaining('enough');
    expect(await row(database.sql, id)).toMatchObject({ state: 'discarded', lastError });
  });

  it('is refused after another, which stays the outcome', async () => {
    const caught: unknown[] = [];
    const handler: TaskHandler = (_, job) => {
      job.snooze({ delayMs: 60_000 });
      for (const second of [() => job.discard('no'), () => job.snooze({ delayMs: 0 })]) {
        try {
          second();
        } catch (error) {
          caught.push(error);
        }
      }
    };
    const { add, seen } = await startTask(handler);
    const id = await add(1);
    await until(() => seen.snoozed.length, { what: 'the snooze' });
    expect(caught).toMatchObject([
      { code: 'JOB_ENDED', data: { id, move: 'discard' } },
      { code: 'JOB_ENDED', data: { id, move: 'snooze' } },
    ]);
  });

  it('is refused once the time limit has passed', async () => {
    const late = createGate();
    const caught: unknown[] = [];
    const handler: TaskHandler = async (_, job) => {
      await late.passed;
      try {
        job.discard('late');
      } catch (error) {
        caught.push(error);
      }
    };
    const { add, seen } = await startTask(handler, { timeoutMs: 30 });
    await add(1);
    await until(() => seen.failed.length, { what: 'the time limit' });
    late.open();
    await until(() => caught.length, { what: 'the late call' });
    expect(caught).toMatchObject([{ code: 'JOB_ENDED' }]);
  });

  it.each([{ delayMs: -1 }, { delayMs: Number.NaN }, { runAt: 'tomorrow' }, { delay: 5 }, 5, undefined])(
    'fails the attempt when snooze is given %o',
    async (when) => {
      const { add, seen } = await startTask((_, job) => job.snooze(when as { delayMs: number }));
      const id = await add(1);
      await until(() => seen.failed.length, { what: 'the failure' });
      expect(seen.failed[0]?.error).toMatchObject({ code: 'INVALID_OPTION' });
      expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 1 });
    },
  );
});

describe('the context, taken apart', () => {
  it('has all that it has as a whole', async () => {
    const handler: TaskHandler = async (_, job) => {
      const { id, kind, queue, attempt, maxAttempts, lockedBy, signal, snooze, discard, complete } = job;
      given.push({ id, kind, queue, attempt, maxAttempts, lockedBy, aborted: signal.aborted });
      if (attempt === 1 && id === ids[0]) return snooze({ delayMs: 60_000 });
      if (id === ids[1]) return discard('no use');
      return database.db.transaction((tx) => complete(tx));
    };
    const ids: number[] = [];
    const given: unknown[] = [];
    const { add, seen } = await startTask(handler, { slots: 1, maxAttempts: 3 });
    await database.db.transaction(async () => {
      for (let n = 0; n < 3; n++) ids.push(await add(n, { delayMs: 300 }));
    });
    await until(() => seen.snoozed.length + seen.discarded.length + seen.completed.length === 3, {
      what: 'all ends',
    });
    const [first] = ids;
    expect(given[0]).toEqual({
      id: first,
      kind: 'task',
      queue: 'default',
      attempt: 1,
      maxAttempts: 3,
      lockedBy: expect.stringMatching(/\/\d+$/),
      aborted: false,
    });
    expect(seen).toMatchObject({
      snoozed: [{ job: { id: ids[0] } }],
      discarded: [{ job: { id: ids[1] } }],
      completed: [{ job: { id: ids[2] } }],
      error: [],
    });
  });
});

describe('the signal', () => {
  it('is aborted, with the reason, also when it is first looked at after that', async () => {
    const gate = createGate();
    const seenBy: { aborted: boolean; reason: unknown }[] = [];
    const handler: TaskHandler = async (_, job) => {
      await gate.passed;
      const { signal } = job;
      seenBy.push({ aborted: signal.aborted, reason: signal.reason });
      seenBy.push({ aborted: job.signal === signal, reason: job.signal.reason });
    };
    const { add, seen } = await startTask(handler, { timeoutMs: 30 });
    const id = await add(1);
    await until(() => seen.failed.length, { what: 'the time limit' });
    gate.open();
    await until(() => seenBy.length === 2, { what: 'both looks' });
    const reason = expect.objectContaining({ code: 'HANDLER_TIMEOUT', data: { id, timeoutMs: 30 } });
    expect(seenBy).toEqual([
      { aborted: true, reason },
      { aborted: true, reason },
    ]);
  });

  it('taken before is the one that is aborted', async () => {
    const signals: AbortSignal[] = [];
    const handler: TaskHandler = async (_, job) => {
      const { signal } = job;
      signals.push(signal);
      await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
      signals.push(job.signal);
    };
    const { add, seen } = await startTask(handler, { timeoutMs: 50 });
    await add(1);
    await until(() => seen.failed.length, { what: 'the time limit' });
    expect(signals).toMatchObject([{ aborted: true, reason: { code: 'HANDLER_TIMEOUT' } }]);
  });

  it('of a run that ended well is not aborted, whenever it is looked at', async () => {
    const contexts: { signal: AbortSignal }[] = [];
    const { add, seen, worker } = await startTask((_, job) => void contexts.push(job));
    await add(1);
    await until(() => seen.completed.length, { what: 'the end' });
    await worker.stop();
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([false]);
  });
});

it('an outcome that was recorded counts also when the handler then runs out of time', async () => {
  const { add, seen } = await startTask(
    (_, job) => {
      job.discard('not worth it');
      return new Promise(() => {});
    },
    { timeoutMs: 50 },
  );
  await add(1);
  await until(() => seen.discarded.length + seen.failed.length, { what: 'the end' });
  expect(seen).toMatchObject({ failed: [], discarded: [{ error: { message: 'not worth it' } }] });
});
