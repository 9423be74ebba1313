/** `perform`: a handler without a database. */
import { describe, expect, it } from 'vitest';
import { defineJobs, job } from '../../src/index.js';
import { perform } from '../../src/testing.js';
import { Discard } from '../../src/worker.js';

const registry = defineJobs({
  send: job<{ to: string; at?: string | undefined }>({
    maxAttempts: 3,
    retry: (error) => (error === 'never again' ? false : error === 'soon' ? 5 : undefined),
  }).queue('mail'),
  count: job<{ n: number }, { n: number }>(),
  ping: job(),
});
const throws = (error: unknown) => () => {
  throw error;
};
const to = { to: 'ada' };

describe('perform', () => {
  it('gives the handler what a worker would', async () => {
    const given: unknown[] = [];
    await perform(registry, 'send', (payload, run) => void given.push(payload, { ...run }), {
      to: 'ada',
      at: undefined,
    });
    expect(given).toEqual([
      { to: 'ada' }, // as it comes back out of JSON
      expect.objectContaining({
        id: 1,
        kind: 'send',
        queue: 'mail',
        attempt: 1,
        maxAttempts: 3,
        lockedBy: 'perform/1',
      }),
    ]);
    const seen = await perform(
      registry,
      'count',
      (_, run) => ({ n: run.attempt + run.maxAttempts + run.id }),
      { n: 1 },
      {
        attempt: 2,
        maxAttempts: 30,
        id: 400,
      },
    );
    expect(seen).toEqual({ outcome: 'completed', result: { n: 432 } });
    const meta = { trace: 'a', more: undefined };
    await perform(registry, 'ping', (_, run) => void given.push(run.meta), undefined, { meta });
    expect(given.at(-1)).toStrictEqual({ trace: 'a' }); // so does this
    expect(await perform(registry, 'ping', () => {})).toEqual({ outcome: 'completed', result: undefined });
  });

  it.each<[what: string, error: unknown, ended: object]>([
    ['an error', 'other', { outcome: 'failed', error: 'other', retryInMs: undefined }],
    ['an error with a pause of its own', 'soon', { outcome: 'failed', error: 'soon', retryInMs: 5 }],
    ['an error that is not worth a retry', 'never again', { outcome: 'discarded', error: 'never again' }],
  ])('says what becomes of %s', async (_what, error, ended) => {
    expect(await perform(registry, 'send', throws(error), to)).toEqual(ended);
  });

  it('discards at the last attempt, and at a Discard', async () => {
    expect(await perform(registry, 'send', throws('soon'), to, { attempt: 3 })).toEqual({
      outcome: 'discarded',
      error: 'soon',
    });
    const reason = new Discard('the address does not exist');
    expect(await perform(registry, 'send', throws(reason), to)).toEqual({
      outcome: 'discarded',
      error: reason,
    });
  });

  it('knows the outcomes that a handler records, whatever it does afterwards', async () => {
    expect(await perform(registry, 'send', (_, run) => run.snooze({ delayMs: 5 }), to)).toEqual({
      outcome: 'snoozed',
      when: { delayMs: 5 },
    });
    const late = await perform(
      registry,
      'send',
      (_, run) => {
        run.discard('enough');
        throw new Error('ignored');
      },
      to,
    );
    expect(late).toMatchObject({ outcome: 'discarded', error: { message: 'enough' } });
    const twice = await perform(
      registry,
      'send',
      (_, run) => {
        run.snooze({ runAt: '2027-01-01T08:00:00+01:00' });
        expect(() => run.discard('both')).toThrow(expect.objectContaining({ code: 'JOB_ENDED' }));
      },
      to,
    );
    expect(twice).toEqual({ outcome: 'snoozed', when: { runAt: '2027-01-01T07:00:00.000Z' } });
  });

  it('completes with the result that complete(tx) was given, unless the handler throws after it', async () => {
    const tx = { execute: async () => [], transaction: async () => {}, rollback: throws('rollback') };
    expect(await perform(registry, 'count', (_, run) => run.complete(tx, { n: 7 }), { n: 1 })).toEqual({
      outcome: 'completed',
      result: { n: 7 },
    });
    const undone = await perform(
      registry,
      'count',
      async (_, run) => {
        await run.complete(tx, { n: 7 });
        throw new Error('rolled back');
      },
      { n: 1 },
    );
    expect(undone).toMatchObject({ outcome: 'failed' });
  });

  it('knows one outcome, as a worker does: what comes after it is refused, or changes nothing', async () => {
    const tx = { execute: async () => [], transaction: async () => {}, rollback: throws('rollback') };
    const refused: unknown[] = [];
    const refuses = (call: () => Promise<unknown>) => call().catch((error) => refused.push(error));
    const completedTwice = await perform(
      registry,
      'count',
      async (_, run) => {
        await run.complete(tx, { n: 1 });
        await refuses(() => run.complete(tx, { n: 2 }));
        return run.snooze({ delayMs: 5 });
      },
      { n: 0 },
    );
    expect(completedTwice).toEqual({ outcome: 'completed', result: { n: 1 } });
    const snoozed = await perform(
      registry,
      'ping',
      async (_, run) => {
        run.snooze({ delayMs: 5 });
        await refuses(() => run.complete(tx));
      },
      undefined,
    );
    expect(snoozed).toEqual({ outcome: 'snoozed', when: { delayMs: 5 } });
    let late = async (): Promise<unknown> => undefined;
    const over = await perform(registry, 'ping', (_, run) => {
      late = () => run.complete(tx);
    });
    expect(over).toEqual({ outcome: 'completed', result: undefined });
    await refuses(() => late());
    expect(refused).toMatchObject([
      { code: 'JOB_ENDED', data: { move: 'complete' } },
      { code: 'JOB_ENDED', data: { move: 'complete' } },
      { code: 'JOB_LOST' },
    ]);
  });

  it('lets what is said after complete(tx) count where the handler throws, as if that was rolled back', async () => {
    const snoozed = await perform(registry, 'ping', async (_, run) => {
      await run.complete({
        execute: async () => [],
        transaction: async () => {},
        rollback: throws('rollback'),
      });
      run.snooze({ delayMs: 5 });
      throw new Error('ignored');
    });
    expect(snoozed).toEqual({ outcome: 'snoozed', when: { delayMs: 5 } });
  });

  it('gives what `retry` throws to the test', async () => {
    const faulty = defineJobs({ ping: job({ retry: throws(new Error('in retry')) }) });
    await expect(perform(faulty, 'ping', throws('other'))).rejects.toThrow('in retry');
  });

  it('aborts the signal when the test does', async () => {
    const controller = new AbortController();
    const waits = perform(
      registry,
      'ping',
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      undefined,
      { signal: controller.signal },
    );
    controller.abort('enough');
    expect(await waits).toMatchObject({ outcome: 'failed', error: 'enough' });
  });

  it.each<[what: string, given: readonly unknown[], code: string]>([
    ['a registry', [undefined, 'send', () => {}, to], 'INVALID_OPTION'],
    ['a kind', [registry, 'sent', () => {}, to], 'UNKNOWN_KIND'],
    ['a handler', [registry, 'send', undefined, to], 'INVALID_OPTION'],
    ['a payload', [registry, 'send', () => {}, { to: new Date() }], 'INVALID_PAYLOAD'],
    ['an attempt', [registry, 'send', () => {}, to, { attempt: 0 }], 'INVALID_OPTION'],
    ['an option', [registry, 'send', () => {}, to, { attempts: 1 }], 'INVALID_OPTION'],
    ['a meta', [registry, 'send', () => {}, to, { meta: 5 }], 'INVALID_OPTION'],
    ['a signal', [registry, 'send', () => {}, to, { signal: {} }], 'INVALID_OPTION'],
  ])('checks what it is given: %s', async (_what, given, code) => {
    await expect(Reflect.apply(perform, undefined, given)).rejects.toMatchObject({ code });
  });
});

describe('a kind that keeps its rows', () => {
  const keeping = defineJobs({ count: job<{ n: number }, { n: number }>().onComplete('keep') });
  const circle: { n: number; self?: unknown } = { n: 1 };
  circle.self = circle;

  it('completes with a result that can be stored, and fails with another, as in a worker', async () => {
    expect(await perform(keeping, 'count', ({ n }) => ({ n }), { n: 1 })).toEqual({
      outcome: 'completed',
      result: { n: 1 },
    });
    for (const handler of [
      () => circle,
      (_: unknown, run: { complete(tx: never, result: { n: number }): Promise<never> }) =>
        run.complete(undefined as never, circle),
    ]) {
      expect(await perform(keeping, 'count', handler as () => { n: number }, { n: 1 })).toMatchObject({
        outcome: 'failed',
        error: { code: 'INVALID_RESULT' },
      });
    }
  });
});
