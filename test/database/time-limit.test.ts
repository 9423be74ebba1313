/** A statement that gets no answer ends at its limit, and a late answer is not lost. */
import { describe, expect, it } from 'vitest';
import { withTimeLimit } from '../../src/database/time-limit.js';
import { until } from '../support/until.js';

describe('a deadline', () => {
  it('passes on an answer and an error in time', async () => {
    const error = new Error('no');
    await expect(withTimeLimit(Promise.resolve(5), 60_000)).resolves.toBe(5);
    await expect(withTimeLimit(Promise.reject(error), 60_000)).rejects.toBe(error);
  });

  it('leaves no timer behind', async () => {
    const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    await withTimeLimit(Promise.resolve(), 60_000);
    await withTimeLimit(Promise.reject(new Error('no')), 60_000).catch(() => {});
    expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout')).toHaveLength(before);
  });

  it('rejects when no answer comes', async () => {
    await expect(withTimeLimit(new Promise(() => {}), 5)).rejects.toMatchObject({
      code: 'STATEMENT_TIMEOUT',
      message:
        'The database did not answer a statement within 5 ms. Is it there, and has the pool a connection to spare?',
      data: { limitMs: 5 },
    });
  });

  it('hands a late answer over, once', async () => {
    const late: number[] = [];
    let answer = (_value: number): void => {};
    const statement = new Promise<number>((resolve) => {
      answer = resolve;
    });
    await expect(withTimeLimit(statement, 5, (value) => late.push(value))).rejects.toThrow('did not answer');
    answer(7);
    await until(() => late.length > 0, { what: 'the late answer' });
    expect(late).toEqual([7]);
  });

  it('does not let a late error end the process', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    try {
      let fail = (): void => {};
      const statement = new Promise<number>((_resolve, reject) => {
        fail = () => reject(new Error('the connection broke at last'));
      });
      await expect(withTimeLimit(statement, 5)).rejects.toMatchObject({ code: 'STATEMENT_TIMEOUT' });
      fail();
      // Node tells of unhandled rejections after the microtasks, before the next turn.
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off('unhandledRejection', onUnhandled);
    }
    expect(unhandled).toEqual([]);
  });
});
