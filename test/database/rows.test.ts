/** Answers of drivers in their shapes, and the loud failure for a shape nobody knows. */
import { sql } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import type { Executor } from '../../src/database/executor.js';
import { numberOf, rows, textOf } from '../../src/database/rows.js';

/** An executor of a driver that we do not have. */
const answering = (answer: unknown): Executor => ({
  execute: async () => answer,
  transaction: (run) => run(answering(answer)),
});

describe('rows', () => {
  it.each<[string, unknown]>([
    ['an array', [{ id: 1 }]],
    ['an array with more on it', Object.assign([{ id: 1 }], { count: 1, command: 'SELECT' })],
    ['an object with rows', { rows: [{ id: 1 }], rowCount: 1 }],
  ])('are read from %s', async (_what, answer) => {
    expect([...(await rows(answering(answer), sql`select 1`))]).toEqual([{ id: 1 }]);
  });

  it.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [1, '1'],
    [{ rowCount: 1 }, 'an object'],
    [{ rows: undefined }, 'an object'],
    [{ rows: { 0: { id: 1 } } }, 'an object'],
    ['[]', '"[]"'],
  ])(
    'are not read from %j: the statement did not change nothing, it is unknown what it did',
    async (answer, shown) => {
      await expect(rows(answering(answer), sql`select 1`)).rejects.toMatchObject({
        code: 'UNEXPECTED_RESULT',
        message: expect.stringContaining(
          `Expected \`execute\` to answer with an array or with { rows }, got ${shown}.`,
        ),
      });
    },
  );

  it('reject with the very error of the driver', async () => {
    const error = new Error('no connection');
    const failing: Executor = {
      execute: () => Promise.reject(error),
      transaction: () => Promise.reject(error),
    };
    await expect(rows(failing, sql`select 1`)).rejects.toBe(error);
  });
});

describe('a column', () => {
  it.each([
    [5, 5],
    ['5', 5],
    ['5000000000', 5_000_000_000],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['-1.5', -1.5],
    [5_000_000_000n, 5_000_000_000],
    [0, 0],
  ])('of %s is the number %s', (value, number) => {
    expect(numberOf(value)).toBe(number);
  });

  it.each([undefined, null, 'NaN', 'x', Number.NaN, true, {}, [5]])('of %s is no number', (value) => {
    expect(() => numberOf(value)).toThrow(expect.objectContaining({ code: 'UNEXPECTED_RESULT' }));
  });

  it('of a text is that text, and of anything else none', () => {
    expect([textOf(''), textOf('a')]).toEqual(['', 'a']);
    for (const value of [undefined, null, 5, {}, ['a']]) {
      expect(() => textOf(value)).toThrow(expect.objectContaining({ code: 'UNEXPECTED_RESULT' }));
    }
  });
});
