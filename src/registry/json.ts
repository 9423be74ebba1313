/**
 * What JSON can carry, as a type: `P extends JsonObject<P>` holds for every type that survives a trip through JSON,
 * and says in a sentence why not for the others.
 *
 * The bound is a mapped type because a plain `JsonValue` refuses every interface (no index signature), and a
 * conditional one is circular. Elements go through `readonly X[]`, which is resolved lazily, so recursive types pass.
 */

/** Any JSON value. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

/** The type itself where JSON carries it, else the reason why not. */
type Json<T> = 0 extends 1 & T
  ? T
  : unknown extends T
    ? T
    : T extends JsonValue | undefined
      ? T // the short way, and the end of recursive types
      : T extends string | number | boolean
        ? T // branded primitives
        : T extends bigint
          ? 'a bigint is not JSON: use a string or a number'
          : T extends symbol
            ? 'a symbol is not JSON'
            : T extends (...a: never) => unknown
              ? 'a function is not JSON'
              : T extends abstract new (
                    ...a: never
                  ) => unknown
                ? 'a class is not JSON'
                : T extends Date
                  ? 'a Date is not JSON: use an ISO string'
                  : T extends
                        | ReadonlyMap<unknown, unknown>
                        | ReadonlySet<unknown>
                        | WeakMap<WeakKey, unknown>
                        | WeakSet<WeakKey>
                    ? 'a Map or Set is not JSON: use an object or an array'
                    : T extends ArrayBufferView | ArrayBufferLike
                      ? 'bytes are not JSON: use base64 text'
                      : T extends Error
                        ? 'an Error is not JSON: use its message'
                        : T extends readonly (infer E)[]
                          ? number extends T['length']
                            ? readonly Element<E>[]
                            : // biome-ignore lint/complexity/noBannedTypes: {} extends Pick<…> is the test for an optional element
                              { [I in keyof T]: {} extends Pick<T, I> ? Json<T[I]> : Element<T[I]> }
                          : T extends object
                            ? JsonObject<T>
                            : never;

type Element<E> = unknown extends E
  ? E
  : undefined extends E
    ? 'undefined in an array is not JSON: use null'
    : Json<E>;

/** The bound of payloads and results. Symbol keys are brands, which exist in types alone. */
export type JsonObject<T> = {
  [K in keyof T]: HasPrivate<T> extends true
    ? 'an object with private members is not JSON: use an interface'
    : K extends symbol
      ? T[K]
      : Json<T[K]>;
};

/** `keyof` does not see private members, so a copy of what it sees lacks them and is not the same type. */
type HasPrivate<T> = { [K in keyof T]: T[K] } extends T ? false : true;
