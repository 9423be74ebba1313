/**
 * The one error class of the library, and the sentences it is made of.
 *
 * A message says what happened, the value it happened to, and what to do. The README lists every code.
 */

import { distance } from 'fastest-levenshtein';

/** Stable across releases: test `error.code`, not the message. */
export type QueueErrorCode =
  | 'INVALID_OPTION'
  | 'INVALID_PAYLOAD'
  | 'INVALID_RESULT'
  | 'INVALID_EXECUTOR'
  | 'TRANSACTION_REQUIRED'
  | 'TRANSACTION_ENDED'
  | 'UNKNOWN_KIND'
  | 'MISSING_HANDLER'
  | 'UNKNOWN_HANDLER'
  | 'UNKNOWN_QUEUE'
  | 'UNEXPECTED_RESULT'
  | 'PAYLOAD_NOT_UPGRADED'
  | 'DUPLICATE_NOT_SEEN'
  | 'STATEMENT_TIMEOUT'
  | 'TABLE_MISMATCH'
  | 'CHANGE_REFUSED'
  | 'HANDLER_TIMEOUT'
  | 'JOB_LOST'
  | 'JOB_ENDED'
  | 'JOB_ROLLED_BACK'
  | 'KIND_NOT_KEPT'
  | 'JOB_NOT_FOUND'
  | 'JOB_DISCARDED'
  | 'JOB_CANCELLED'
  | 'WAIT_TIMEOUT'
  | 'WORKER_STOPPED'
  | 'WORKER_BUSY'
  | 'DRAIN_LIMIT'
  | 'NOT_ENQUEUED';

/** Everything the library throws, rejects with, or gives as the reason of an aborted `signal`. */
export class QueueError extends Error {
  readonly code: QueueErrorCode;
  /** What the message speaks of, as values: the option's name, the payload's path, the job's id, … */
  readonly data: Readonly<Record<string, unknown>>;

  constructor(
    code: QueueErrorCode,
    message: string,
    { data = {}, cause }: { data?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'QueueError';
    this.code = code;
    this.data = data;
  }
}

/** The error of an option (or a field of an item) whose value will not do. */
export function invalidOption(option: string, expected: string, given: unknown): QueueError {
  return new QueueError('INVALID_OPTION', `Expected \`${option}\` to be ${expected}, got ${show(given)}.`, {
    // Of objects only what they are: data is for logs, and payloads are not.
    data: {
      option,
      expected,
      given: Object(given) === given ? show(given) : given,
    },
  });
}

/** A value as a short piece of text for a message. Never throws, whatever it is given. */
export function show(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(clip(value));
    case 'bigint':
      return clip(`${value}n`);
    case 'symbol':
      return clip(value.toString()).toWellFormed();
    case 'function':
      return 'a function';
    case 'object':
      return value === null ? 'null' : showObject(value);
    default:
      return String(value);
  }
}

function showObject(value: object): string {
  try {
    if (Array.isArray(value)) return `an array of ${value.length}`;
    if (value instanceof Date && Number.isNaN(value.getTime())) return 'an invalid Date';
    const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
    return typeof name === 'string' && name !== '' && name !== 'Object'
      ? `a ${clip(name).toWellFormed()}`
      : 'an object';
  } catch {
    return 'an object'; // a revoked Proxy throws at every touch
  }
}

function clip(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** ` Did you mean "x"?` when one of the names is close to what was given, else nothing. */
export function didYouMean(given: string, names: readonly string[]): string {
  const near = names
    .map((name) => ({ name, distance: distance(given.slice(0, 128), name) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance)[0];
  return near ? ` Did you mean ${JSON.stringify(near.name)}?` : '';
}
