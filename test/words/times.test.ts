/** The times that a job may be given: an instant always has a zone, a delay always an end. */
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { longestDelayMs } from '../../src/words/backoff.js';
import { checkDelay, checkRunAt } from '../../src/words/times.js';

describe('a delay', () => {
  it.each([
    [0, 0],
    [0.4, 0],
    [1_000, 1_000],
    [1_000.5, 1_001],
    [Number.MIN_VALUE, 0],
    [longestDelayMs, longestDelayMs],
  ])('of %s ms is taken as %s', (given, ms) => {
    expect(checkDelay('delayMs', given)).toBe(ms);
  });

  it('of -0 ms is none', () => {
    expect(checkDelay('delayMs', -0) === 0).toBe(true);
  });

  it.each([-1, -0.1, Number.NaN, Number.POSITIVE_INFINITY, longestDelayMs + 1, '5', 5n, null, undefined, {}])(
    'of %s is refused',
    (given) => {
      expect(() => checkDelay('delayMs', given)).toThrow(
        expect.objectContaining({
          code: 'INVALID_OPTION',
          message: expect.stringContaining(
            'Expected `delayMs` to be a number of ms from 0 to 3153600000000, got ',
          ),
        }),
      );
    },
  );
});

describe('an instant', () => {
  it.each<[Date | string, string]>([
    [new Date('2027-01-01T08:00:00.123Z'), '2027-01-01T08:00:00.123Z'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    ['2027-01-01T08:00:00Z', '2027-01-01T08:00:00.000Z'],
    ['2027-01-01T08:00Z', '2027-01-01T08:00:00.000Z'],
    ['2027-01-01T08:00:00.1Z', '2027-01-01T08:00:00.100Z'],
    ['2027-01-01T08:00:00.123456789Z', '2027-01-01T08:00:00.123Z'],
    ['2027-01-01T08:00:00+05:30', '2027-01-01T02:30:00.000Z'],
    ['2026-12-31T20:00:00-12:00', '2027-01-01T08:00:00.000Z'],
    ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('%s is taken as %s', (given, iso) => {
    expect(checkRunAt('runAt', given)).toBe(iso);
  });

  it('may be a Date of another realm', () => {
    expect(checkRunAt('runAt', runInNewContext('new Date(0)'))).toBe('1970-01-01T00:00:00.000Z');
  });

  it.each<[string, unknown]>([
    ['an invalid Date', new Date(Number.NaN)],
    ['the year 20000', new Date(Date.UTC(20_000, 0))],
    ['a year before 1', new Date('-000044-03-15T00:00:00Z')],
    ['the year 0', '0000-06-01T00:00:00Z'],
    ['the year 10000, by its zone', '9999-12-31T23:59:59-01:00'],
    ['text without a zone', '2027-01-01T08:00:00'],
    ['a day', '2027-01-01'],
    ['a word', 'tomorrow'],
    ['infinity', 'infinity'],
    ['-infinity', '-infinity'],
    ['no text', ''],
    ['a year with a sign', '+012027-01-01T08:00:00Z'],
    ['BC', '0044-03-15 BC'],
    ['a space for the T', '2027-01-01 08:00:00Z'],
    ['a zone without a colon', '2027-01-01T08:00:00+0530'],
    ['a zone by name', '2027-01-01T08:00:00 Europe/Berlin'],
    ['text around it', ' 2027-01-01T08:00:00Z'],
    ['a line more', '2027-01-01T08:00:00Z\n'],
    ['the 13th month', '2027-13-01T08:00:00Z'],
    ['the 30th of February', '2027-02-30T08:00:00Z'],
    ['the 29th of February of a common year', '2027-02-29T08:00:00Z'],
    ['the 25th hour', '2027-01-01T25:00:00Z'],
    ['seconds', 1_800_000_000],
    ['milliseconds', 1_800_000_000_000],
    ['a bigint', 1n],
    ['null', null],
    ['undefined', undefined],
    ['an object', { getTime: () => 0 }],
    ['an object that claims to be a Date', Object.create(Date.prototype)],
    ['a revoked Proxy', revoked()],
  ])('is not %s', (_what, given) => {
    expect(() => checkRunAt('runAt', given)).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: expect.stringContaining('Expected `runAt` to be a Date or ISO text with a zone'),
      }),
    );
  });
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable(new Date(), {});
  revoke();
  return proxy;
}
