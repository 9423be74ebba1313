/** Whatever is thrown becomes text that Postgres takes, of bounded length, without what an error has besides its words. */
import { describe, expect, it } from 'vitest';
import { clean, errorBrief, errorBriefLimit, errorText, errorTextLimit } from '../../src/words/error-text.js';

const note = '… (cut)';

describe('the text of what was thrown', () => {
  it('is the stack of an error, once', () => {
    const error = new TypeError('no such order');
    expect(errorText(error)).toBe(error.stack);
    expect(errorText(error)).toMatch(/^TypeError: no such order\n +at /);
    expect(errorBrief(error)).toBe('TypeError: no such order');
  });

  it('has a message that was changed later in front of the stack', () => {
    const error = new Error('first');
    expect(error.stack).toContain('first'); // read once, since a test runner may make it as late as that
    error.message = 'second';
    expect(errorText(error)).toMatch(/^Error: second\nError: first\n +at /);
  });

  it.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [0, '0'],
    [5n, '5n'],
    [false, 'false'],
    ['out of paper', 'out of paper'],
    ['', 'an empty string was thrown'],
    [Symbol('gone'), 'Symbol(gone)'],
    [() => {}, 'a function'],
    [{ status: 500 }, 'an object was thrown'],
    [[1, 2], 'an array of 2 was thrown'],
    [{ message: 'only a message' }, 'only a message'],
    [{ name: 'OnlyAName' }, 'OnlyAName'],
    [{ name: 5, message: { a: 1 } }, 'an object was thrown'],
    [new Map(), 'a Map was thrown'],
  ])('is said of what is no error (%#)', (thrown, text) => {
    expect(errorText(thrown)).toBe(text);
    expect(errorBrief(thrown)).toBe(text);
  });

  it('is said of what throws at every touch', () => {
    const proxy = new Proxy(new Error('x'), { get: fail, getPrototypeOf: fail });
    for (const thrown of [revoked(), everyGetterThrows(), proxy]) {
      expect([errorText(thrown), errorBrief(thrown)]).toEqual([
        'an object was thrown',
        'an object was thrown',
      ]);
    }
  });

  it('names the causes, five at most', () => {
    const chain = (depth: number): Error =>
      new Error(`level ${depth}`, depth < 9 ? { cause: chain(depth + 1) } : {});
    const text = errorText(chain(0));
    expect(text.match(/^(Caused by: )?Error: level \d/gm)).toEqual([
      'Error: level 0',
      ...[1, 2, 3, 4].map((level) => `Caused by: Error: level ${level}`),
    ]);
    expect(errorText({ message: 'a', cause: 'b' })).toBe('a\nCaused by: b');
    expect(errorText({ message: 'a', cause: null })).toBe('a\nCaused by: null');
  });

  it('ends where causes go in a circle', () => {
    const [one, two] = [new Error('one'), new Error('two')];
    Object.assign(one, { cause: two });
    Object.assign(two, { cause: one });
    expect(errorText(one).match(/Error: (one|two)/g)?.length).toBe(5);
    const self = new Error('self');
    Object.assign(self, { cause: self });
    expect(errorText(self)).toBe(self.stack);
  });

  it('leaves out all other fields, which hold secrets, sockets and circles', () => {
    const error = Object.assign(new Error('request failed'), {
      config: { headers: { authorization: 'secret-token' } },
      response: { data: 'secret-body' },
      params: ['secret-parameter'],
      errors: [new Error('secret-part')],
      toString: fail,
      toJSON: fail,
    });
    Object.assign(error, { request: error });
    expect(errorText(error)).toBe(error.stack);
    expect(errorText(error)).not.toContain('secret');
    expect(errorText(new AggregateError([new Error('secret-part')], 'all failed'))).not.toContain('secret');
  });

  it.each([
    ['the message', Object.assign(new Error('x'), { message: 'bad \0 byte \ud83d', stack: '' })],
    ['the name', Object.assign(new Error('x'), { name: 'Bad\0\udc00' })],
    ['the stack', Object.assign(new Error('x'), { stack: 'Error: x\n  at \0 \ud83d' })],
    ['the cause', new Error('x', { cause: new Error('bad \0 byte \udc00') })],
    ['a thrown text', 'bad \0 byte \ud83d'],
  ])('has neither NUL nor half a character from %s', (_where, thrown) => {
    for (const text of [errorText(thrown), errorBrief(thrown)]) {
      expect(text).not.toContain('\0');
      expect(text.isWellFormed()).toBe(true);
    }
    expect(errorText(thrown)).toContain('\ufffd');
  });

  it('is cut for 50 MB of text, and says so', () => {
    for (const thrown of [
      new Error('x'.repeat(50_000_000)),
      'x'.repeat(50_000_000),
      Object.assign(new Error('x'), { stack: `Error: x\n${'y'.repeat(50_000_000)}` }),
      new Error('a', { cause: new Error('x'.repeat(50_000_000)) }),
    ]) {
      expect(errorText(thrown)).toHaveLength(errorTextLimit);
      expect(errorText(thrown).endsWith(note)).toBe(true);
      expect(errorBrief(thrown).length).toBeLessThanOrEqual(errorBriefLimit);
    }
    expect(errorBrief('x'.repeat(50_000_000))).toBe('x'.repeat(errorBriefLimit - note.length) + note);
  });
});

describe('a cut', () => {
  const limit = 50;

  it.each([limit - 2, limit - 1, limit])('is not made at %s characters', (length) => {
    const text = `${'a'.repeat(length - 2)}😀`;
    expect(clean(text, limit)).toBe(text);
  });

  it.each([limit + 1, limit + 2, limit * 1_000])('is made at %s characters', (length) => {
    expect(clean('a'.repeat(length), limit)).toBe('a'.repeat(limit - note.length) + note);
  });

  it.each(Array.from({ length: 12 }, (_, n) => limit - 10 + n))('splits no emoji that starts at %s', (at) => {
    const text = clean(`${'a'.repeat(at)}😀${'b'.repeat(limit)}`, limit);
    expect(text.length).toBeLessThanOrEqual(limit);
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain('\ufffd');
    expect(text.includes('😀')).toBe(at + 2 <= limit - note.length);
  });

  it('leaves half an emoji that was there before as U+FFFD', () => {
    expect(clean('a\ud83db', limit)).toBe('a\ufffdb');
    expect(clean('a\0b\ud83d', limit)).toBe('a\ufffdb\ufffd');
  });
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
  revoke();
  return proxy;
}

function everyGetterThrows(): object {
  const get = { get: fail };
  return Object.defineProperties({}, { name: get, message: get, stack: get, cause: get, constructor: get });
}

function fail(): never {
  throw new Error('touched');
}
