/** Random JSON as an app may enqueue it, and the same with one thing in it that no payload may have. */
import fc from 'fast-check';
import type { JsonValue } from '../../src/index.js';

/** Text that Postgres can store: any characters but NUL and halves of surrogate pairs. */
export const text: fc.Arbitrary<string> = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.constantFrom(
      '',
      '\\u0000',
      '{"a":1}',
      '[1]',
      '5',
      'null',
      '"',
      "'; --",
      '$1',
      '{}',
      '?',
      '%s',
      '\ufeff\uffff',
    ),
  )
  .map((it) => it.replaceAll('\0', '\u0001'));

const key: fc.Arbitrary<string> = fc.oneof(
  text,
  fc.constantFrom(
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'toJSON',
    'then',
    'length',
    '',
    '0',
    '-1',
    ' ',
  ),
);

const number: fc.Arbitrary<number> = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.maxSafeInteger(),
  fc.integer(),
  fc.constantFrom(-0, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE, 2 ** 53, 1e21, 0.1, 1e-7),
);

const leaf: fc.Arbitrary<JsonValue> = fc.oneof(text, number, fc.boolean(), fc.constant(null));

export const json: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map(object),
  ),
})).value;

/** Levels of arrays and objects around a value, up to what a payload may have with the value's own. */
export const deep: fc.Arbitrary<JsonValue> = fc
  .tuple(json, fc.array(fc.option(key, { nil: undefined }), { minLength: 100, maxLength: 480 }))
  .map(([inner, levels]) => levels.reduce<JsonValue>(wrap, inner));

/** What a value is after a trip through JSON: `-0` is `0`. */
export function asJson(value: JsonValue): unknown {
  return JSON.parse(JSON.stringify(value));
}

export interface Bad {
  readonly payload: unknown;
  readonly path: readonly (string | number)[];
}

/** A function of the name `toJSON` is a fault of the object that has it, and not of the value there. */
const name = key.filter((it) => it !== 'toJSON');

/** A payload with one bad value, and where that is. */
export const bad: fc.Arbitrary<Bad> = fc
  .tuple(wrong(), fc.array(fc.tuple(fc.option(name, { nil: undefined }), json), { maxLength: 6 }))
  .map(([{ value, below }, levels]) =>
    levels.reduce<Bad>(
      ({ payload, path }, [name, beside]) =>
        name === undefined
          ? { payload: [beside, payload], path: [1, ...path] }
          : {
              payload: plain([
                [`${name}'`, beside],
                [name, payload],
              ]),
              path: [name, ...path],
            },
      { payload: value, path: below },
    ),
  );

/** Something that JSON or Postgres cannot carry, and the path to it from the value. */
function wrong(): fc.Arbitrary<{ readonly value: unknown; readonly below: readonly (string | number)[] }> {
  const half = fc.constantFrom('\ud83d', '\udc00', '\udc00\ud83d');
  const unstorable = fc.tuple(text, fc.oneof(fc.constant('\0'), half), text).map((parts) => parts.join('|'));
  const other = fc.oneof(
    fc.bigInt(),
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
    fc.date({ noInvalidDate: false }),
    fc.constantFrom(Symbol('s'), () => {}, Number, new Map(), new Set([1]), /x/, new Error('x'), Object(5)),
    fc.constantFrom(Buffer.from('x'), new Uint8Array(2), Promise.resolve(), new URL('http://a.example')),
  );
  return fc.oneof(
    fc.oneof(unstorable, other).map((value) => ({ value, below: [] })),
    unstorable.map((name) => ({ value: plain([[name, 1]]), below: [] })),
    fc
      .nat(4)
      .map((holes) => ({ value: [...Array.from({ length: holes }, () => 1), undefined], below: [holes] })),
  );
}

function object(entries: readonly (readonly [string, JsonValue])[]): JsonValue {
  return Object.fromEntries(entries);
}

function plain(entries: readonly (readonly [string, unknown])[]): object {
  return Object.fromEntries(entries);
}

function wrap(inner: JsonValue, name: string | undefined): JsonValue {
  return name === undefined ? [inner] : object([[name, inner]]);
}
