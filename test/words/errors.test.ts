/** The error class, and the sentences made of values that may be anything. */
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { didYouMean, invalidOption, QueueError, show } from '../../src/words/errors.js';

describe('a QueueError', () => {
  it('carries its code, its data and its cause', () => {
    const cause = new Error('the driver said no');
    const error = new QueueError('JOB_LOST', 'Job 5 is lost.', { data: { id: 5 }, cause });
    expect(error).toBeInstanceOf(Error);
    expect({ ...error, message: error.message, cause: error.cause, text: String(error) }).toEqual({
      name: 'QueueError',
      code: 'JOB_LOST',
      data: { id: 5 },
      message: 'Job 5 is lost.',
      cause,
      text: 'QueueError: Job 5 is lost.',
    });
    expect(error.stack).toContain('errors.test.ts');
  });

  it('has no cause, not even an undefined one, when none was given', () => {
    const error = new QueueError('JOB_LOST', 'x');
    expect('cause' in error).toBe(false);
    expect(error.data).toEqual({});
  });

  it('names an option, what was expected and what was given', () => {
    expect(invalidOption('priority', 'a whole number', 'high')).toMatchObject({
      code: 'INVALID_OPTION',
      message: 'Expected `priority` to be a whole number, got "high".',
      data: { option: 'priority', expected: 'a whole number', given: 'high' },
    });
  });
});

class Order {}

describe('a value in a message', () => {
  it.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'true'],
    [5, '5'],
    [-0, '0'],
    [Number.NaN, 'NaN'],
    [5n, '5n'],
    ['a "b"\n', '"a \\"b\\"\\n"'],
    ['', '""'],
    ['a\0\ud83d', '"a\\u0000\\ud83d"'],
    [Symbol('s'), 'Symbol(s)'],
    [() => {}, 'a function'],
    [Order, 'a function'],
    [[1, 2], 'an array of 2'],
    [{ a: 1 }, 'an object'],
    [Object.create(null), 'an object'],
    [new Order(), 'a Order'],
    [new Date(Number.NaN), 'an invalid Date'],
    [new Map(), 'a Map'],
    [Promise.resolve(), 'a Promise'],
    [runInNewContext('({})'), 'an object'],
    [runInNewContext('new Date(0)'), 'a Date'],
    [{ constructor: 5 }, 'an object'],
    [Object.create({ constructor: { name: 5 } }), 'an object'],
    [Object.create({ constructor: { name: '' } }), 'an object'],
    [new Proxy({}, { getPrototypeOf: fail, get: fail }), 'an object'],
    [Object.create(Object.defineProperty({}, 'constructor', { get: fail })), 'an object'],
    [Object.create({ constructor: Object.defineProperty({}, 'name', { get: fail }) }), 'an object'],
  ])('reads as it should (%#)', (value, text) => {
    expect(show(value)).toBe(text);
  });

  it('reads as an object where a touch throws', () => {
    expect(show(revoked())).toBe('an object');
  });

  it.each<[string, unknown]>([
    ['a text', 'x'.repeat(1_000_000)],
    ['a text of control characters', '\0'.repeat(1_000_000)],
    ['a text of emoji', '😀'.repeat(1_000_000)],
    ['a bigint', 10n ** 5_000n],
    ['a symbol', Symbol('x'.repeat(1_000_000))],
    ['a class name', Object.create({ constructor: { name: 'x'.repeat(1_000_000) } })],
  ])('is short for %s of any length', (_what, value) => {
    expect(show(value).length).toBeLessThan(600);
    expect(show(value).isWellFormed()).toBe(true);
    expect(show(value)).toContain('…');
  });
});

describe('a guess', () => {
  const names = ['maxAttempts', 'timeoutMs', 'priority', 'at'];

  it.each([
    ['maxAttempt', ' Did you mean "maxAttempts"?'],
    ['MaxAttempts', ' Did you mean "maxAttempts"?'],
    ['timoutMS', ' Did you mean "timeoutMs"?'],
    ['prio', ''],
    ['ta', ''],
    ['t', ' Did you mean "at"?'],
    ['', ''],
    ['queue', ''],
    ['maxAttempts'.repeat(100), ''],
  ])('for %j is %j', (given, guess) => {
    expect(didYouMean(given, names)).toBe(guess);
  });

  it('is the nearest of several, and none where there are none', () => {
    expect(didYouMean('sendMial', ['sendMails', 'sendMail'])).toBe(' Did you mean "sendMail"?');
    expect(didYouMean('x', [])).toBe('');
  });
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function fail(): never {
  throw new Error('touched');
}
