/** `job(…)` checks its options at once, and is the only maker of kinds. */
import { describe, expect, it } from 'vitest';
import { type JobOptions, job } from '../../src/registry/job.js';

/** Options as plain JavaScript may give them. */
const jobOf = (options: unknown) => job(options as JobOptions<void>);
const refused = (text: string) =>
  expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(text) });

describe('job', () => {
  it('keeps the options as given, frozen and apart from the caller’s object', () => {
    const given = { maxAttempts: 3, timeoutMs: Number.POSITIVE_INFINITY, rescueAfterMs: 2_000, priority: -0 };
    const type = job(given);
    given.maxAttempts = 99;
    expect(type.options).toEqual({
      maxAttempts: 3,
      timeoutMs: Number.POSITIVE_INFINITY,
      rescueAfterMs: 2_000,
      priority: -0,
    });
    expect(Object.isFrozen(type.options)).toBe(true);
    expect(Object.isFrozen(type)).toBe(true);
  });

  it('is on the queue "default" until it says otherwise, and then on a new object', () => {
    const plain = job<{ id: number }>({ priority: 2 });
    const mail = plain.queue('mail');
    expect([plain.$queue, mail.$queue, mail.queue('late').$queue]).toEqual(['default', 'mail', 'late']);
    expect(mail.options).toBe(plain.options);
  });

  it('deletes its rows until it says otherwise, and then on a new object, whatever is said first', () => {
    const plain = job<{ id: number }>({ priority: 2 });
    const kept = plain.onComplete('keep');
    expect(
      [plain, kept, kept.queue('mail'), kept.onComplete('delete')].map((type) => type.$onComplete),
    ).toEqual(['delete', 'keep', 'keep', 'delete']);
    expect(plain.queue('mail').onComplete('keep').$queue).toBe('mail');
    expect(kept.options).toBe(plain.options);
  });

  it.each(['', 'Keep', 'history', true, undefined, null, {}])(
    'refuses %j for what becomes of its rows',
    (what) => {
      expect(() => job().onComplete(what as 'keep')).toThrow(
        refused("Expected `onComplete` to be one of 'delete', 'keep', got "),
      );
    },
  );

  it.each(['', 'q'.repeat(129), '😀'.repeat(129), 'a\0b', '\ud83d', 5, undefined, null, {}])(
    'refuses the queue name %j',
    (name) => {
      expect(() => job().queue(name as string)).toThrow(
        refused('Expected `queue` to be a text of 1 to 128 characters'),
      );
    },
  );

  it.each(['q', 'q'.repeat(128), '😀'.repeat(128), ' ', '__proto__', 'O\'Reilly"; drop table jobs;--', '*'])(
    'takes the queue name %j',
    (name) => {
      expect(job().queue(name).$queue).toBe(name);
    },
  );

  it.each<[string, readonly unknown[], string]>([
    [
      'maxAttempts',
      [0, -1, 1.5, 32_768, 2 ** 31, Number.NaN, Number.POSITIVE_INFINITY, '3', null, 3n],
      'a whole number from 1 to 32767',
    ],
    [
      'priority',
      [-32_769, 32_768, 2 ** 31, 0.5, Number.NaN, '1', null, true],
      'a whole number from -32768 to 32767',
    ],
    [
      'timeoutMs',
      [0, -1, 0.5, 2 ** 31, Number.NaN, Number.NEGATIVE_INFINITY, '1000', null],
      'a whole number from 1 to 2147483647',
    ],
    [
      'rescueAfterMs',
      [0, 999, 86_400_001, Number.NaN, Number.POSITIVE_INFINITY, '60000', null],
      'a whole number from 1000 to 86400000',
    ],
    ['rescueAfterMs', [1_001, 60_500], 'in whole seconds'],
    ['retry', [1_000, 'never', null, {}], 'a function'],
    ['dedupeKey', ['k', 5, null, {}], 'a function'],
    [
      'onDuplicate',
      ['ignore', 'SKIP', 1, null, true],
      "one of 'skip', 'replace', 'debounce', 'again', 'throttle'",
    ],
  ])('refuses every wrong %s', (option, values, sentence) => {
    for (const value of values) {
      expect(() => jobOf({ [option]: value }), String(value)).toThrow(
        refused(`Expected \`${option}\` to be ${sentence}, got `),
      );
    }
  });

  it.each<[string, readonly unknown[]]>([
    ['maxAttempts', [1, 32_767, undefined]],
    ['priority', [-32_768, 32_767, 0, undefined]],
    ['timeoutMs', [1, 2_147_483_647, Number.POSITIVE_INFINITY, undefined]],
    ['rescueAfterMs', [1_000, 86_400_000, undefined]],
    ['retry', [() => false, undefined]],
    ['dedupeKey', [() => 'k', undefined]],
    ['onDuplicate', ['skip', 'replace', 'debounce', 'again', undefined]],
  ])('takes every right %s', (option, values) => {
    for (const value of values) expect(jobOf({ [option]: value }).options).toEqual({ [option]: value });
  });

  it('takes a longest wait with debounce only', () => {
    const options = { onDuplicate: 'debounce', maxWaitMs: 0 } as const;
    expect(job(options).options).toEqual(options);
    for (const maxWaitMs of [-1, Number.NaN, '5', null, 4e12]) {
      expect(() => jobOf({ ...options, maxWaitMs })).toThrow(
        refused('Expected `maxWaitMs` to be a number of ms from 0 to 3153600000000, got '),
      );
    }
    for (const onDuplicate of ['skip', 'replace', 'again', 'throttle', undefined]) {
      expect(() => jobOf({ onDuplicate, maxWaitMs: 5 })).toThrow(
        refused("Expected `maxWaitMs` to be left out where `onDuplicate` is not 'debounce', got 5."),
      );
    }
  });

  it('takes a period with throttle only, and throttle not without one', () => {
    for (const periodMs of [1, 60_000, 3_153_600_000_000]) {
      const options = { onDuplicate: 'throttle', periodMs } as const;
      expect(job(options).options).toEqual(options);
    }
    for (const periodMs of [undefined, null, 0, -1, Number.NaN, '5', 4e12]) {
      expect(() => jobOf({ onDuplicate: 'throttle', periodMs })).toThrow(
        refused(
          "Expected `periodMs` to be a number of ms from 1 to 3153600000000, which 'throttle' needs, got ",
        ),
      );
    }
    for (const onDuplicate of ['skip', 'replace', 'debounce', 'again', undefined]) {
      expect(() => jobOf({ onDuplicate, periodMs: 5 })).toThrow(
        refused("Expected `periodMs` to be left out where `onDuplicate` is not 'throttle', got 5."),
      );
    }
  });

  it('refuses an unknown option and names the nearest', () => {
    expect(() => jobOf({ maxAttempt: 3 })).toThrow(
      refused(
        'Unknown option "maxAttempt" in job(…). Did you mean "maxAttempts"? ' +
          'Known are: version, maxAttempts, timeoutMs, rescueAfterMs, priority, retry, dedupeKey, ' +
          'onDuplicate, maxWaitMs, periodMs.',
      ),
    );
    expect(() => jobOf({ queue: 'mail' })).toThrow(
      refused('Expected `queue` to be a method, as in job(…).queue(…)'),
    );
    expect(() => jobOf({ onComplete: 'keep' })).toThrow(
      refused("Expected `onComplete` to be a method, as in job(…).onComplete('keep'), and no option"),
    );
    expect(() => jobOf(JSON.parse('{"__proto__":1}'))).toThrow(refused('Unknown option "__proto__"'));
  });

  it.each([null, 5, 'mail', [], () => {}])('refuses %j in place of options', (options) => {
    expect(() => jobOf(options)).toThrow(refused('Expected `job(…)` to be an object'));
  });
});
