/** What one enqueue may say, and the row it becomes once every check has passed. */
import type { OnDuplicate } from '../registry/job.js';
import { jobDefaults, limits } from '../registry/job-options.js';
import { metaText, payloadText } from '../registry/payload.js';
import { type AnyRegistry, kindOf, queueOf } from '../registry/registry.js';
import type { NewJob } from '../sql/enqueue.js';
import { checkKeys, trueOrFalse, wholeNumber } from '../words/checks.js';
import { checkWhen } from '../words/times.js';
import { type Dedupe, dedupeOf } from './dedupe.js';

/**
 * These win over the kind's options. `Queue` are the names that `queue` may be: by itself none, so that what takes these
 * options fits every registry. With a registry's: `EnqueueOptions<QueueNames<typeof registry>>`.
 */
export interface EnqueueOptions<Queue extends string = never> {
  /**
   * Not before so many ms after the call, by the database's clock: from 0 to a hundred years.
   * @default 0
   */
  readonly delayMs?: number | undefined;
  /** Not before this instant: a Date, or ISO text with a zone (`2027-01-01T08:00:00Z`). Not together with `delayMs`. */
  readonly runAt?: Date | string | undefined;
  /** Higher first, from -32768 to 32767. */
  readonly priority?: number | undefined;
  /** How often the job may start, from 1 to 32767. */
  readonly maxAttempts?: number | undefined;
  /** The handler's time limit for this job, in ms from 1 to 2147483647. */
  readonly timeoutMs?: number | undefined;
  /** Another queue of the registry. A worker runs the job if it serves that queue and has the kind's handler. */
  readonly queue?: Queue | undefined;
  /** What is no input of the handler, a trace's context say: an object that JSON carries. The handler sees it as `job.meta`. */
  readonly meta?: { readonly [key: string]: unknown } | undefined;
  /**
   * Whether a sleeping worker is told of the job when it commits. Without, it is found by the next look, within
   * `pollIntervalMs`.
   * @default true
   */
  readonly wake?: boolean | undefined;
  /** At most one job of the kind with this key waits or runs at a time: 1 to 512 characters. */
  readonly dedupeKey?: string | undefined;
  /**
   * What to do when the dedupe key is taken; without a key nothing.
   * @default 'skip'
   */
  readonly onDuplicate?: OnDuplicate | undefined;
  /** Only with `onDuplicate: 'debounce'`: no later than so many ms after the job was enqueued first. */
  readonly maxWaitMs?: number | undefined;
}

export const enqueueOptionKeys = [
  'delayMs',
  'runAt',
  'priority',
  'maxAttempts',
  'timeoutMs',
  'queue',
  'meta',
  'wake',
  'dedupeKey',
  'onDuplicate',
  'maxWaitMs',
];

/** A job that has passed every check, and whether sleeping workers are told of it. */
export interface CheckedJob extends NewJob {
  readonly wake: boolean;
  /** Of a job with a dedupe key. */
  readonly dedupe: Dedupe | undefined;
}

/** The checked job. Throws `UNKNOWN_KIND`, `INVALID_PAYLOAD` or `INVALID_OPTION`. */
export function newJob(
  registry: AnyRegistry,
  kind: unknown,
  payload: unknown,
  options: EnqueueOptions<string>,
  maxPayloadBytes: number,
): CheckedJob {
  const type = kindOf(registry, kind);
  const priority = options.priority ?? type.options.priority ?? jobDefaults.priority;
  const maxAttempts = options.maxAttempts ?? type.options.maxAttempts ?? jobDefaults.maxAttempts;
  const { timeoutMs, meta } = options;
  return {
    queue: options.queue == null ? type.$queue : queueOf(registry, options.queue),
    kind: String(kind),
    payload: payloadText(String(kind), payload, maxPayloadBytes),
    payloadVersion: type.version,
    priority: wholeNumber('priority', priority, ...limits.priority),
    when: checkWhen(options) ?? { delayMs: 0 },
    maxAttempts: wholeNumber('maxAttempts', maxAttempts, ...limits.maxAttempts),
    timeoutMs: timeoutMs == null ? undefined : wholeNumber('timeoutMs', timeoutMs, ...limits.timeoutMs),
    meta: meta == null ? undefined : metaText(String(kind), meta, maxPayloadBytes),
    timeoutS: (type.options.rescueAfterMs ?? jobDefaults.rescueAfterMs) / 1_000,
    wake: trueOrFalse('wake', options.wake ?? true),
    dedupe: dedupeOf(String(kind), type.options, options, payload),
  };
}

/** The options of one enqueue, which plain JavaScript may give as anything. */
export function checkEnqueueOptions(given: unknown): EnqueueOptions<string> {
  if (given === undefined) return {};
  checkKeys('the enqueue options', given, enqueueOptionKeys);
  return given as EnqueueOptions<string>; // each value is checked where it is used
}
