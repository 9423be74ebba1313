/**
 * Payloads become JSON text, or are refused with the path of what JSON or jsonb cannot carry. What Postgres makes of
 * the text is tested in queue/.
 */
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { payloadText, resultText } from '../../src/registry/payload.js';
import { QueueError } from '../../src/words/errors.js';

const text = (payload: unknown) => payloadText('sendReceipt', payload, 1_000_000);

/** The error of a payload, which must be one of ours. */
function refusal(payload: unknown): QueueError {
  try {
    text(payload);
  } catch (error) {
    if (error instanceof QueueError) return error;
    throw error;
  }
  throw new Error('The payload was taken.');
}

class Money {
  constructor(readonly cents: number) {}
}

function cycle(): object {
  const order: { id: number; lines: object[] } = { id: 1, lines: [] };
  order.lines.push({ order });
  return order;
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

function withoutPrototype(fields: object): object {
  return Object.assign(Object.create(null), fields);
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe('a payload', () => {
  it.each<[unknown, string]>([
    [undefined, '{}'],
    [{}, '{}'],
    [null, 'null'],
    [{ a: 1, b: [true, null, 'x'], c: { d: -1.5e300 } }, '{"a":1,"b":[true,null,"x"],"c":{"d":-1.5e+300}}'],
    ['text', '"text"'],
    [[], '[]'],
    [false, 'false'],
    [{ a: '😀', '😀': 'ü\n\t"\\\u2028' }, '{"a":"😀","😀":"ü\\n\\t\\"\\\\\u2028"}'],
    [{ a: 'six characters: \\u0000' }, '{"a":"six characters: \\\\u0000"}'],
    [{ a: undefined, b: 1 }, '{"b":1}'],
    [{ a: -0 }, '{"a":0}'],
    [{ '': 1, constructor: 2, toString: 3, length: 4 }, '{"":1,"constructor":2,"toString":3,"length":4}'],
    [JSON.parse('{"__proto__":{"isAdmin":true}}'), '{"__proto__":{"isAdmin":true}}'],
    [withoutPrototype({ a: 1 }), '{"a":1}'],
    [Object.freeze([Object.freeze({ a: 1 })]), '[{"a":1}]'],
    [runInNewContext('({ a: [1, { b: "other realm" }] })'), '{"a":[1,{"b":"other realm"}]}'],
  ])('%j is taken as it is', (payload, json) => {
    expect(text(payload)).toBe(json);
  });

  it('may hold one object in several places', () => {
    const address = { city: 'Oslo' };
    expect(text({ from: address, to: address, all: [address, address] })).toBe(
      '{"from":{"city":"Oslo"},"to":{"city":"Oslo"},"all":[{"city":"Oslo"},{"city":"Oslo"}]}',
    );
  });

  it.each<[string, unknown, readonly (string | number)[], string]>([
    ['NUL in a text', { a: 'x\0y' }, ['a'], 'payload.a has a NUL character, which Postgres cannot store.'],
    ['NUL in a key', { ok: 1, b: { 'x\0y': 1 } }, ['b'], 'payload.b has a NUL character'],
    ['NUL deep inside', { a: [1, { b: ['\0'] }] }, ['a', 1, 'b', 0], 'payload.a[1].b[0] has a NUL character'],
    ['NUL as the whole', '\0', [], 'cannot be stored: payload has a NUL character'],
    ['the first half of an emoji', { a: '\ud83d' }, ['a'], 'payload.a has half of a surrogate pair'],
    ['the second half', { a: ['x\udc00'] }, ['a', 0], 'payload.a[0] has half of a surrogate pair'],
    ['half an emoji in a key', { '\ud83d': 1 }, [], 'payload has half of a surrogate pair'],
    [
      'a bigint',
      { n: 1n },
      ['n'],
      'payload.n is a bigint, which JSON cannot carry: use a string or a number.',
    ],
    ['undefined in an array', [1, undefined], [1], 'payload[1] is undefined in an array'],
    ['a hole in an array', { a: Array(3) }, ['a', 0], 'payload.a[0] is undefined in an array'],
    ['NaN', { n: Number.NaN }, ['n'], 'payload.n is NaN'],
    ['Infinity', { n: [Number.POSITIVE_INFINITY] }, ['n', 0], 'payload.n[0] is Infinity'],
    ['-Infinity', Number.NEGATIVE_INFINITY, [], 'payload is -Infinity'],
    ['a Date', { at: new Date(0) }, ['at'], 'payload.at is a Date'],
    ['an invalid Date', { at: new Date(Number.NaN) }, ['at'], 'payload.at is an invalid Date'],
    ['a Map', { m: new Map([[1, 2]]) }, ['m'], 'payload.m is a Map'],
    ['a Set', new Set([1]), [], 'payload is a Set'],
    ['a Buffer', { file: Buffer.from('x') }, ['file'], 'payload.file is a Buffer'],
    ['a typed array', { file: new Float64Array(1) }, ['file'], 'payload.file is a Float64Array'],
    ['a RegExp', { r: /x/ }, ['r'], 'payload.r is a RegExp'],
    ['an Error', { e: new TypeError('x') }, ['e'], 'payload.e is a TypeError'],
    ['a Promise', { p: Promise.resolve(1) }, ['p'], 'payload.p is a Promise'],
    ['a boxed text', { s: Object('x') }, ['s'], 'payload.s is a String'],
    ['an object of a class', { price: new Money(5) }, ['price'], 'payload.price is a Money'],
    ['a Date of another realm', { at: runInNewContext('new Date(0)') }, ['at'], 'payload.at is a Date'],
    ['a Map of another realm', { m: runInNewContext('new Map()') }, ['m'], 'payload.m is a Map'],
    ['a function', { f: () => {} }, ['f'], 'payload.f is a function'],
    ['a class', Money, [], 'payload is a function'],
    ['a symbol', { s: Symbol('x') }, ['s'], 'payload.s is a symbol'],
    ['a symbol as a key', { a: { [Symbol('x')]: 1 } }, ['a'], 'payload.a has a symbol as a key'],
    [
      'an object that contains itself',
      cycle(),
      ['lines', 0, 'order'],
      'payload.lines[0].order contains itself',
    ],
    ['a toJSON that changes it', { a: 1, toJSON: () => ({ b: 2 }) }, [], 'payload has a toJSON method'],
    ['a toJSON that throws', { a: { toJSON: fail } }, ['a'], 'payload.a has a toJSON method'],
    ['a toJSON that nobody lists', Object.defineProperty({}, 'toJSON', { value: fail }), [], 'a toJSON'],
    ['a toJSON of an array', { a: Object.assign([1], { toJSON: fail }) }, ['a'], 'payload.a has a toJSON'],
    ['an inherited toJSON', Object.create(withoutPrototype({ toJSON: fail })), [], 'has a toJSON method'],
  ])('is refused for %s', (_what, payload, path, sentence) => {
    const error = refusal(payload);
    expect(error).toMatchObject({ code: 'INVALID_PAYLOAD', data: { kind: 'sendReceipt', path } });
    expect(error.message).toContain('The payload of "sendReceipt" cannot be stored: ');
    expect(error.message).toContain(sentence);
  });

  it.each<[string, unknown]>([
    ['a getter that throws', Object.defineProperty({}, 'a', { enumerable: true, get: fail })],
    ['a revoked Proxy', revoked()],
    ['a revoked Proxy inside', { a: [revoked()] }],
    ['a Proxy whose traps throw', new Proxy({}, { ownKeys: fail, getPrototypeOf: fail })],
  ])('is refused for %s, with the cause', (_what, payload) => {
    expect(refusal(payload)).toMatchObject({
      code: 'INVALID_PAYLOAD',
      message: 'The payload of "sendReceipt" cannot be read.',
      cause: expect.any(Error),
    });
  });

  it('keeps what a getter threw as the cause', () => {
    const payload = Object.defineProperty({}, 'a', { enumerable: true, get: fail });
    expect(refusal(payload).cause).toMatchObject({ message: 'thrown by the payload' });
  });

  it('is taken 500 deep and refused 501 deep, long before any stack ends', () => {
    expect(text(nested(500))).toHaveLength(1_001);
    expect(refusal(nested(501))).toMatchObject({
      code: 'INVALID_PAYLOAD',
      message: expect.stringContaining('is nested more than 500 deep'),
    });
    expect(refusal(nested(1_000_000)).code).toBe('INVALID_PAYLOAD');
  });

  it('has a message of bounded length, whatever its keys are', () => {
    const error = refusal({ ['k'.repeat(100_000)]: { ['😀'.repeat(1_000)]: 1n } });
    expect(error.message.length).toBeLessThan(400);
    expect(error.message.isWellFormed()).toBe(true);
  });
});

describe('the size limit', () => {
  it('counts the bytes of the JSON text, not its characters', () => {
    expect(payloadText('a', 'ü', 4)).toBe('"ü"');
    expect(() => payloadText('a', 'ü', 3)).toThrow(
      expect.objectContaining({
        code: 'INVALID_PAYLOAD',
        data: { kind: 'a', bytes: 4, maxBytes: 3 },
        message: expect.stringContaining(
          'The payload of "a" has 4 bytes as JSON, more than `maxPayloadBytes` (3).',
        ),
      }),
    );
  });
});

describe('a result', () => {
  const result = (value: unknown) => resultText('countOrders', value);

  it.each<[unknown, string | undefined]>([
    [undefined, undefined],
    [null, 'null'],
    [{}, '{}'],
    [{ count: 1, note: undefined }, '{"count":1}'],
    ['text', '"text"'],
  ])('of %j is taken', (value, text) => {
    expect(result(value)).toBe(text);
  });

  it('is refused like a payload, by its own name and code', () => {
    expect(() => result({ counts: [1n] })).toThrow(
      expect.objectContaining({
        code: 'INVALID_RESULT',
        message:
          'The result of "countOrders" cannot be stored: result.counts[0] is a bigint, which JSON cannot carry: use a string or a number.',
        data: { kind: 'countOrders', path: ['counts', 0] },
      }),
    );
    expect(() => result(revoked())).toThrow(
      expect.objectContaining({
        code: 'INVALID_RESULT',
        message: 'The result of "countOrders" cannot be read.',
      }),
    );
  });

  it('may have a MiB of JSON', () => {
    expect(result('x'.repeat(1_048_574))).toHaveLength(1_048_576);
    expect(() => result('x'.repeat(1_048_575))).toThrow(
      expect.objectContaining({
        code: 'INVALID_RESULT',
        message: expect.stringContaining('has 1048577 bytes as JSON, more than 1048576. Store what is large'),
        data: { kind: 'countOrders', bytes: 1_048_577, maxBytes: 1_048_576 },
      }),
    );
  });
});

function fail(): never {
  throw new Error('thrown by the payload');
}
