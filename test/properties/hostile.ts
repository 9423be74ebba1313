/**
 * Anything that a handler may throw, return or hand over: the worse the better. As makers, since fast-check touches the
 * values it is given, and these do not like it.
 */
import fc from 'fast-check';

export interface Hostile {
  /** For the report of a failure. */
  readonly what: string;
  readonly make: () => unknown;
}

/** Any value of the language that is not out for harm. */
const anything: fc.Arbitrary<Hostile> = fc
  .anything({
    key: fc.oneof(
      fc.string({ maxLength: 5 }),
      fc.constantFrom('message', 'cause', 'stack', 'name', 'code', 'then'),
    ),
    maxDepth: 2,
    maxKeys: 4,
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  })
  .map((value) => ({ what: fc.stringify(value), make: () => value }));

/** Text with what Postgres refuses, terminals obey and cuts split; now and then very long. */
const text: fc.Arbitrary<Hostile> = fc
  .oneof(
    fc.string({
      unit: fc.constantFrom('\0', '\ud83d', '\udc00', '😀', 'a', '\u001b[2J', '\n', '\u202e', '\\', '"'),
    }),
    fc.nat(12).map((n) => `${'x'.repeat(9_985 + n)}😀😀`),
    fc.nat(12).map((n) => `${'x'.repeat(985 + n)}😀😀`),
    fc.constantFrom('', '\\u0000', 'x'.repeat(3_000_000), '😀'.repeat(50_000), '\ud83d'.repeat(20_000)),
  )
  .map((value) => ({
    what: `text of ${value.length}: ${JSON.stringify(value.slice(-40))}`,
    make: () => value,
  }));

const refuse = (): never => {
  throw new Error('do not touch');
};

const rude: fc.Arbitrary<Hostile> = fc.constantFrom(
  ...Object.entries<() => unknown>({
    'a Symbol with NUL': () => Symbol('\0'),
    'a function': () => () => {},
    'a class': () => class {},
    'an object without prototype': () => Object.create(null),
    'an object that refuses to be text': () => ({ toString: refuse, [Symbol.toPrimitive]: refuse }),
    'a then that throws': () => Object.defineProperty({}, 'then', { value: refuse }),
    'a getter of then that throws': () => Object.defineProperty({}, 'then', { get: refuse }),
    'a function with a getter of then that throws': () =>
      Object.defineProperty(() => {}, 'then', { get: refuse }),
    'a Proxy that refuses': () => new Proxy({}, traps),
    'a Proxy of a function that refuses': () => new Proxy(() => {}, traps),
    'a Proxy of an Error without a message to read': () =>
      new Proxy(new Error('x'), { get: (_, key) => (key === 'message' ? refuse() : undefined) }),
    'an Error whose constructor refuses': () =>
      Object.defineProperty(new Error('x'), 'constructor', { get: refuse }),
    'an AbortError': () => new DOMException('stop', 'AbortError'),
    'an AggregateError': () => new AggregateError([new Error('one'), null], 'several'),
    'an Error by its prototype alone': () =>
      Object.create(Error.prototype, { message: { value: { toString: refuse } } }),
    'a revoked Proxy': () => revoked({}),
    'a revoked Proxy of an Error': () => revoked(new Error('x')),
    'a revoked Proxy of an array': () => revoked([]),
    'a revoked Proxy of a function': () => revoked(() => {}),
    'an Error in a circle': circle,
  }).map(([what, make]) => ({ what, make })),
);
const traps = { get: refuse, getPrototypeOf: refuse, has: refuse, ownKeys: refuse, apply: refuse };

const kinds = { Error, TypeError, RangeError };
const field = fc.oneof(
  text,
  anything,
  rude,
  fc.constant({ what: 'a getter that throws', make: refuse }),
  fc.constant({ what: 'a getter of something else each time', make: () => String(Math.random()) }),
);

/** An Error with fields that are hostile themselves. */
const error: fc.Arbitrary<Hostile> = fc
  .record({
    kind: fc.constantFrom('Error', 'TypeError', 'RangeError'),
    message: text,
    fields: fc.dictionary(fc.constantFrom('name', 'message', 'stack', 'cause', 'code', 'toJSON'), field),
  })
  .map(({ kind, message, fields }) => ({
    what: `${kind}(${message.what}) with ${JSON.stringify(Object.entries(fields).map(([name, { what }]) => [name, what]))}`,
    make: () => withFields(new kinds[kind](String(message.make())), fields),
  }));

const cause: fc.Arbitrary<Hostile> = fc.oneof(error, rude, anything).map(({ what, make }) => ({
  what: `an Error caused by an Error caused by ${what}`,
  make: () => new Error('outer', { cause: new Error('middle', { cause: make() }) }),
}));

export const hostile: fc.Arbitrary<Hostile> = fc.oneof(anything, text, rude, error, cause);

function withFields(error: Error, fields: Readonly<Record<string, Hostile>>): Error {
  void error.stack; // made now, by V8 or by whoever maps its lines, while the name can be read
  const getters = Object.entries(fields).map(([name, { make }]) => [name, { get: make }]);
  return Object.defineProperties(error, Object.fromEntries(getters));
}

function circle(): Error {
  const one = new Error('one');
  one.cause = Object.assign(new Error('other'), { cause: one });
  return one;
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}
