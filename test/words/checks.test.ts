/** The checks that every surface with options shares. */

import { describe, expect, it } from 'vitest';
import { checkFunction, checkKeys, checkName, oneOf, wholeNumber, wrongKey } from '../../src/words/checks.js';
import { givenInData } from '../support/given.js';

const refused = (message: string) => expect.objectContaining({ code: 'INVALID_OPTION', message });

describe('a whole number', () => {
  it.each([
    [1, 1],
    [5, 5],
    [-0, 0],
    [-5, -5],
  ])('%s is taken as %s', (given, taken) => {
    expect(wholeNumber('n', given, -5, 5)).toBe(taken);
  });

  it.each<[unknown, string]>([
    [6, '6'],
    [-6, '-6'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    ['3', '"3"'],
    [3n, '3n'],
    [null, 'null'],
    [undefined, 'undefined'],
    [[3], 'an array of 1'],
    [new Number(3), 'a Number'],
  ])('%s is refused with the bounds', (given, shown) => {
    expect(() => wholeNumber('n', given, -5, 5)).toThrow(
      refused(`Expected \`n\` to be a whole number from -5 to 5, got ${shown}.`),
    );
  });
});

describe('a dedupe key', () => {
  it.each(['k', ' ', 'k'.repeat(512), '😀'.repeat(512), `${'😀'.repeat(256)}${'k'.repeat(256)}`, "'", '\n'])(
    '%j is one',
    (key) => {
      expect(wrongKey(key)).toBeUndefined();
    },
  );

  it.each([
    '',
    'k'.repeat(513),
    '😀'.repeat(513),
    `${'😀'.repeat(512)}k`,
    'a\0b',
    '\ud83d',
    5,
    null,
    {},
    new String('k'),
  ])('%j is none', (key) => {
    expect(wrongKey(key)).toMatch(/^a text of 1 to 512 characters/);
  });
});

it('one of several texts is taken, and all else refused with them named', () => {
  expect(oneOf('way', 'b', ['a', 'b'])).toBe('b');
  for (const given of ['c', '', undefined, null, 1, ['a']]) {
    expect(() => oneOf('way', given, ['a', 'b'])).toThrow("Expected `way` to be one of 'a', 'b', got ");
  }
});

describe('a name', () => {
  it.each(['a', ' ', 'a'.repeat(128), '😀'.repeat(128), '__proto__', "'", '\n', '\u202e'])(
    '%j is taken',
    (name) => {
      expect(() => checkName('queue', name)).not.toThrow();
    },
  );

  it.each<[unknown]>([
    [''],
    ['a'.repeat(129)],
    ['😀'.repeat(129)],
    ['x'.repeat(10_000_000)],
    ['a\0'],
    ['\ud83d'],
    ['a\udc00b'],
    [undefined],
    [null],
    [5],
    [['a']],
    [Object('a')],
  ])('%s is refused', (name) => {
    expect(() => checkName('queue', name)).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        data: expect.objectContaining({ option: 'queue', given: givenInData(name) }),
      }),
    );
  });
});

describe('a function', () => {
  it('is taken, and nothing else', () => {
    expect(() => checkFunction('retry', async () => {})).not.toThrow();
    for (const given of [undefined, null, {}, 'f', 5]) {
      expect(() => checkFunction('retry', given)).toThrow('Expected `retry` to be a function, got ');
    }
  });
});

describe('an object of options', () => {
  it('may have known keys, in any number', () => {
    expect(() => checkKeys('job(…)', {}, ['a'])).not.toThrow();
    expect(() => checkKeys('job(…)', { a: 1, b: undefined }, ['a', 'b'])).not.toThrow();
  });

  it('may have no other key, whatever its value', () => {
    expect(() => checkKeys('job(…)', { ab: undefined }, ['abc', 'x'])).toThrow(
      refused('Unknown option "ab" in job(…). Did you mean "abc"? Known are: abc, x.'),
    );
    expect(() => checkKeys('job(…)', JSON.parse('{"__proto__":1}'), ['a'])).toThrow(
      'Unknown option "__proto__"',
    );
    expect(() => checkKeys('job(…)', { toString: 1 }, ['a'])).toThrow('Unknown option "toString"');
  });

  it.each([undefined, null, 5, 'a', [], ['a'], () => {}])('is not %j', (given) => {
    expect(() => checkKeys('job(…)', given, ['a'])).toThrow('Expected `job(…)` to be an object, got ');
  });
});
