/** What a kind's `retry` may answer. The formula of the usual backoff is SQL, and tested there. */
import { describe, expect, it } from 'vitest';
import { longestDelayMs, retryDelay } from '../../src/words/backoff.js';

describe('the delay that a retry gave', () => {
  it.each([
    [0, 0],
    [1, 1],
    [1_500.4, 1_500],
    [1_500.5, 1_501],
    [longestDelayMs, longestDelayMs],
    [longestDelayMs + 1, longestDelayMs],
    [1e300, longestDelayMs],
    [Number.POSITIVE_INFINITY, longestDelayMs],
  ])('%s ms is taken as %s', (given, ms) => {
    expect(retryDelay(given)).toBe(ms);
  });

  it.each([
    undefined,
    null,
    Number.NaN,
    -1,
    -0.1,
    Number.NEGATIVE_INFINITY,
    '10',
    10n,
    true,
    {},
    [5],
    () => 5,
  ])('%s is no delay, so the usual backoff is taken', (given) => {
    expect(retryDelay(given)).toBeUndefined();
  });

  it('a promise is no delay', () => {
    expect(retryDelay(Promise.resolve(5))).toBeUndefined();
  });
});
