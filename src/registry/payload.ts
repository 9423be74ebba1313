/**
 * Payloads and results as JSON text, or `INVALID_PAYLOAD` and `INVALID_RESULT` with the path of what JSON or jsonb cannot
 * carry.
 *
 * Refused before any SQL, because an error from Postgres would abort the caller's transaction. What
 * `JSON.stringify` changes without a word (a Date, NaN, a Map, undefined in an array) is refused as well;
 * only an optional property that is `undefined` is left out, as TypeScript's optional fields expect.
 */
import { invalidOption, QueueError, show } from '../words/errors.js';

/** Far below the depth at which JSON.stringify or Postgres' parser run out of stack. */
const deepest = 500;

/** Of a character of a JavaScript string, in UTF-8. */
const mostBytes = 3;

/** The largest result, in bytes of JSON; payloads have a limit that the app sets. */
const largestResult = 1_048_576;

/** The payload of a job as JSON text; `undefined`, for kinds without one, is `{}`. */
export function payloadText(kind: string, payload: unknown, maxBytes: number): string {
  if (payload === undefined) return '{}';
  return jsonText({ what: 'payload', kind }, payload, maxBytes);
}

/** The result of a job as JSON text; undefined where the handler gave none. */
export function resultText(kind: string, result: unknown): string | undefined {
  if (result === undefined) return undefined;
  return jsonText({ what: 'result', kind }, result, largestResult);
}

/** What a value is. */
interface Carried {
  readonly what: 'payload' | 'result' | 'meta';
  readonly kind: string;
}

const codes = { payload: 'INVALID_PAYLOAD', result: 'INVALID_RESULT', meta: 'INVALID_OPTION' } as const;

function dataOf({ what, kind }: Carried): { readonly [key: string]: unknown } {
  return what === 'meta' ? { option: 'meta', kind } : { kind };
}

function jsonText(carried: Carried, value: unknown, maxBytes: number): string {
  let text: string;
  try {
    check(value, { path: [], above: [] });
    text = JSON.stringify(value);
  } catch (error) {
    throw invalid(carried, error);
  }
  if (text.length * mostBytes <= maxBytes) return text;
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) throw tooLarge(carried, bytes, maxBytes);
  return text;
}

function tooLarge(carried: Carried, bytes: number, maxBytes: number): QueueError {
  const { what, kind } = carried;
  const advice =
    what !== 'result'
      ? `\`maxPayloadBytes\` (${maxBytes}). Store what is large elsewhere and enqueue its id, or raise the limit in createQueue(…).`
      : `${maxBytes}. Store what is large elsewhere and return its id.`;
  return new QueueError(
    codes[what],
    `The ${what} of ${show(kind)} has ${bytes} bytes as JSON, more than ${advice}`,
    { data: { ...dataOf(carried), bytes, maxBytes } },
  );
}

/** What a job carries beside its payload, as JSON text; `INVALID_OPTION` for what JSON cannot carry, or no object. */
export function metaText(kind: string, meta: unknown, maxBytes: number): string {
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) {
    throw invalidOption('meta', 'an object', meta);
  }
  return jsonText({ what: 'meta', kind }, meta, maxBytes);
}

/** Where the walk is: one stack for all of it, since most payloads are fine and a path a value would be copied for nothing. */
interface Walk {
  readonly path: (string | number)[];
  /** The objects that contain the value at hand; few enough to be searched. */
  readonly above: object[];
}

/** What is wrong, and where; turned into a QueueError once, at the top. */
class Refusal {
  readonly path: readonly (string | number)[];
  readonly reason: string;

  constructor(path: readonly (string | number)[], reason: string) {
    this.path = [...path];
    this.reason = reason;
  }
}

function check(value: unknown, walk: Walk): void {
  switch (typeof value) {
    case 'string':
      return checkText(value, walk);
    case 'boolean':
      return;
    case 'number':
      if (Number.isFinite(value)) return;
      throw new Refusal(walk.path, `is ${value}, which JSON cannot carry`);
    case 'object':
      if (value !== null) checkObject(value, walk);
      return;
    case 'bigint':
      throw new Refusal(walk.path, 'is a bigint, which JSON cannot carry: use a string or a number');
    case 'undefined':
      throw new Refusal(walk.path, 'is undefined in an array, which JSON cannot carry: use null');
    default:
      throw new Refusal(walk.path, `is a ${typeof value}, which JSON cannot carry`);
  }
}

function checkText(text: string, { path }: Walk): void {
  if (text.includes('\0')) throw new Refusal(path, 'has a NUL character, which Postgres cannot store');
  if (!text.isWellFormed())
    throw new Refusal(path, 'has half of a surrogate pair, which Postgres cannot store');
}

function checkObject(value: object, walk: Walk): void {
  if (walk.above.includes(value)) throw new Refusal(walk.path, 'contains itself, which JSON cannot carry');
  if (walk.path.length >= deepest)
    throw new Refusal(walk.path.slice(0, 5), `is nested more than ${deepest} deep`);
  if (!Array.isArray(value) && !isPlain(value)) {
    throw new Refusal(
      walk.path,
      `is ${show(value)}, which JSON would change: use plain objects, ISO text for times`,
    );
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    throw new Refusal(walk.path, 'has a toJSON method, whose answer would be stored unchecked');
  }
  walk.above.push(value);
  if (Array.isArray(value)) {
    // An index loop: forEach would skip the holes, which JSON turns into null.
    for (let i = 0; i < value.length; i++) checkPart(i, value[i], walk);
  } else {
    checkFields(value, walk);
  }
  walk.above.pop();
}

function checkFields(value: object, walk: Walk): void {
  const symbols = Object.getOwnPropertySymbols(value);
  if (symbols.some((key) => Object.prototype.propertyIsEnumerable.call(value, key))) {
    throw new Refusal(walk.path, 'has a symbol as a key, which JSON leaves out');
  }
  for (const [key, field] of Object.entries(value)) {
    checkText(key, walk);
    if (field !== undefined) checkPart(key, field, walk);
  }
}

function checkPart(step: string | number, value: unknown, walk: Walk): void {
  walk.path.push(step);
  check(value, walk);
  walk.path.pop();
}

/** An object literal, one without a prototype, or one from another realm (a vm context, a test runner's). */
function isPlain(value: object): boolean {
  const proto: object | null = Object.getPrototypeOf(value);
  return proto === null || proto === Object.prototype || Object.getPrototypeOf(proto) === null;
}

function invalid(carried: Carried, error: unknown): QueueError {
  const { what, kind } = carried;
  if (!(error instanceof Refusal)) {
    // A getter, a Proxy or the like threw while the value was read.
    return new QueueError(codes[what], `The ${what} of ${show(kind)} cannot be read.`, {
      data: dataOf(carried),
      cause: error,
    });
  }
  const where = error.path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('');
  const place = clip(`${what}${where}`);
  return new QueueError(
    codes[what],
    `The ${what} of ${show(kind)} cannot be stored: ${place} ${error.reason}.`,
    {
      data: { ...dataOf(carried), path: error.path },
    },
  );
}

function clip(text: string): string {
  return (text.length > 200 ? `${text.slice(0, 200)}…` : text).replaceAll('\0', '\\0').toWellFormed();
}
