/** `job<Payload, Result>(options)`: one kind of job, as `defineJobs` takes it. */

import { checkName, oneOf } from '../words/checks.js';
import { checkJobOptions, jobDefaults } from './job-options.js';
import type { JsonObject } from './json.js';
import { type Upgrade, type Versioned, withUpgrade } from './upgrades.js';

/**
 * What an enqueue does when its dedupe key is taken by a job that has not ended:
 *
 * - `'skip'` leaves that job as it is.
 * - `'replace'` gives a job that waits the new payload and options, and the new time unless it waits for a retry, whose
 *   pause is not cut short. A job that runs is left as it is.
 * - `'debounce'` is the same with a last time, `maxWaitMs` after the job was enqueued first: each enqueue moves the job
 *   to its own `delayMs`, so that it runs when they have stopped coming.
 * - `'again'` is as `replace`, and a job that runs will run once more with what the enqueue says, however often that is asked
 *   while it runs: so after the last enqueue a run always begins. Its end, whatever that is, makes it due again from its first
 *   attempt; where it is tried again anyway, after a failure, a snooze or a release, that is the run. Only a cancel or remove
 *   ends both.
 * - `'throttle'` leaves that job as it is, and lets no other come for `periodMs` from the enqueue that was taken, also when
 *   the job has ended before. The answer is that job's id, though it may be gone. Needs the table `job_throttle`.
 */
export type OnDuplicate = 'skip' | 'replace' | 'debounce' | 'again' | 'throttle';

/** What jobs of a kind have in common. An enqueue option wins over these, these win over the defaults. */
export interface JobOptions<Payload> {
  /**
   * Which shape payloads of the kind have, from 1 to 32767. Each row keeps that of its enqueue. Raise it with each change
   * of the shape, and say with {@link JobType.upgradeFrom} what becomes of jobs that wait.
   * @default 1
   */
  readonly version?: number | undefined;
  /**
   * How often a job may start before it is discarded: a whole number from 1 to 32767.
   * @default 10
   */
  readonly maxAttempts?: number | undefined;
  /**
   * The handler's time limit in ms, from 1 to 2147483647, or `Infinity` for none. At the limit its `signal` aborts,
   * the attempt fails, and whatever it still does is ignored.
   * @default 900_000 (15 minutes)
   */
  readonly timeoutMs?: number | undefined;
  /**
   * How long a running job may go without a heartbeat before another worker rescues it, in ms: from 1000 to
   * 86400000, in whole seconds. Keep it well above the workers' `heartbeatMs`. It is written into each row, so
   * the limit of a job is that of its enqueue.
   * @default 60_000
   */
  readonly rescueAfterMs?: number | undefined;
  /**
   * Higher first: a whole number from -32768 to 32767. Use few distinct values.
   * @default 0
   */
  readonly priority?: number | undefined;
  /**
   * What to do after a failed attempt: ms until the next, `false` to discard the job at once, `undefined` for the
   * usual backoff of `min(2^attempt, 3600) s × random(0.5, 1)`. `attempt` is 1 for the first. When it throws, or
   * answers with anything else, the usual backoff is taken. A rescued job always takes the usual one.
   */
  readonly retry?:
    | ((error: unknown, attempt: number, payload: Payload) => number | false | undefined)
    | undefined;
  /**
   * The dedupe key of a job, from its payload: at most one job of this kind with the same key waits or runs at a time.
   * 1 to 512 characters; `undefined` for a job that may have any number of its like. Keys of different kinds never meet.
   * When it throws, or gives something else, the enqueue is refused with `INVALID_OPTION`.
   */
  readonly dedupeKey?: ((payload: Payload) => string | undefined) | undefined;
  /**
   * What an enqueue does when its dedupe key is taken.
   * @default 'skip'
   */
  readonly onDuplicate?: OnDuplicate | undefined;
  /**
   * Only with `onDuplicate: 'debounce'`: the job runs no later than so many ms after it was enqueued first, however
   * often it is moved; from 0 to a hundred years. Without, it may be put off for ever.
   */
  readonly maxWaitMs?: number | undefined;
  /**
   * Only with `onDuplicate: 'throttle'`, and needed there: for so many ms after an enqueue that was taken no other of its key
   * is, from 1 to a hundred years. The kind's jobs of one key share one period; an enqueue's own counts if it is taken.
   */
  readonly periodMs?: number | undefined;
}

/**
 * What becomes of a row when its job completes:
 *
 * - `'delete'`: it goes, and what the handler returned with it.
 * - `'keep'`: it stays, `completed`, with what the handler returned in `result`.
 */
export type OnComplete = 'delete' | 'keep';

/**
 * One kind of job: its types, its queue name and its options. Make it with {@link job}. `Oldest` is the payload that the
 * last step of {@link JobType.upgradeFrom} takes.
 */
export interface JobType<
  Payload,
  Result,
  Queue extends string = 'default',
  Oldest = Payload,
  Alias extends string = never,
  Completed extends OnComplete = 'delete',
> extends Versioned {
  /** The payload's type; there is no value. */
  readonly $payload: Payload;
  /** The type of what the handler returns; there is no value. */
  readonly $result: Result;
  /** The queue that jobs of this kind go to. */
  readonly $queue: Queue;
  /** What becomes of a row when its job completes. */
  readonly $onComplete: Completed;
  /** Former names of the kind. */
  readonly $aliases: readonly Alias[];
  readonly options: JobOptions<Payload>;
  /** Of its payloads: that of the options, or 1. */
  readonly version: number;
  /** The steps from older payloads, the newest first. */
  readonly upgrades: readonly Upgrade[];
  /**
   * The same kind on the queue of this name (1 to 128 characters). A method and not an option, so that the compiler
   * knows the name and can demand the handlers of the queues a worker serves.
   */
  queue<const Name extends string>(name: Name): JobType<Payload, Result, Name, Oldest, Alias, Completed>;
  /**
   * The same kind, with a step for payloads of an older version: `upgrade` takes one of `version` and gives that of the
   * next. The newest step comes first, and none is left out:
   * `job<V3>({ version: 3 }).upgradeFrom<V2>(2, …).upgradeFrom<V1>(1, …)`.
   *
   * It runs when such a job is run or read, each time, so it should do nothing else. The row stays as it is. Where it
   * throws, the attempt fails with `PAYLOAD_NOT_UPGRADED` and is retried after the usual backoff.
   *
   * @throws QueueError `INVALID_OPTION` unless `version` is the one below that of the last step, or of the kind
   */
  upgradeFrom<Old extends JsonObject<Old>>(
    version: number,
    upgrade: (old: Old) => Oldest,
  ): JobType<Payload, Result, Queue, Old, Alias, Completed>;
  /**
   * The same kind, which also runs the jobs that were enqueued under these former names (1 to 128 characters each). Their
   * rows keep the name and the version they have, so a kind that is renamed goes on counting its versions. Dedupe keys
   * are kept apart by what rows are called: one under the old name does not hold that of the new one.
   *
   * @throws QueueError `INVALID_OPTION` for a name that does not fit
   */
  alias<const Name extends string>(
    ...names: readonly Name[]
  ): JobType<Payload, Result, Queue, Oldest, Alias | Name, Completed>;
  /**
   * The same kind with rows that stay when their jobs complete (`'keep'`), for `queue.wait` and for joins, or go (`'delete'`,
   * which is the default). The worker that ends a job decides, by its own registry. Kept rows are yours to delete.
   */
  onComplete<const What extends OnComplete>(what: What): JobType<Payload, Result, Queue, Oldest, Alias, What>;
}

/**
 * Defines a kind of job: `job<{ orderId: number }>({ maxAttempts: 5 }).queue('mail')`.
 *
 * A payload or result that JSON cannot carry (Date, Map, bigint, functions, classes with methods) does not compile;
 * the error names the path. `job()` alone has no payload.
 *
 * @throws QueueError `INVALID_OPTION` for an unknown option or one out of range
 */
// The overload without type parameters comes first: through the generic one, `job()` inside `defineJobs` would infer
// `any` from its surroundings.
export function job(options?: JobOptions<void>): JobType<void, void>;
export function job<Payload extends JsonObject<Payload>, Result extends JsonObject<Result> = void>(
  options?: JobOptions<Payload>,
): JobType<Payload, Result>;
export function job<Payload, Result>(options: JobOptions<Payload> = {}): JobType<Payload, Result> {
  const checked = checkJobOptions(options);
  const version = checked.version ?? jobDefaults.version;
  return jobType({
    options: checked,
    version,
    upgrades: [],
    $queue: 'default',
    $aliases: [],
    $onComplete: 'delete',
  });
}

/** What there is of a kind when the program runs. */
interface Parts<Payload, Queue, Alias, Completed> extends Versioned {
  readonly options: JobOptions<Payload>;
  readonly $queue: Queue;
  readonly $aliases: readonly Alias[];
  readonly $onComplete: Completed;
}

function jobType<
  Payload,
  Result,
  Queue extends string,
  Oldest,
  Alias extends string,
  Completed extends OnComplete,
>(parts: Parts<Payload, Queue, Alias, Completed>): JobType<Payload, Result, Queue, Oldest, Alias, Completed> {
  const type = {
    ...parts,
    queue: <const Name extends string>(name: Name) => {
      checkName('queue', name);
      return jobType<Payload, Result, Name, Oldest, Alias, Completed>({ ...parts, $queue: name });
    },
    upgradeFrom: <Old>(version: number, upgrade: (old: Old) => Oldest) =>
      jobType<Payload, Result, Queue, Old, Alias, Completed>({
        ...parts,
        upgrades: withUpgrade(parts, { from: version, upgrade }),
      }),
    alias: <const Name extends string>(...names: readonly Name[]) => {
      for (const name of names) checkName('alias', name);
      const $aliases = Object.freeze([...new Set([...parts.$aliases, ...names])]);
      return jobType<Payload, Result, Queue, Oldest, Alias | Name, Completed>({ ...parts, $aliases });
    },
    onComplete: <const What extends OnComplete>(what: What) => {
      oneOf('onComplete', what, onCompletes);
      return jobType<Payload, Result, Queue, Oldest, Alias, What>({ ...parts, $onComplete: what });
    },
  };
  jobTypes.add(type);
  return Object.freeze(type) as typeof type & Phantom<Payload, Result>;
}

/** Properties that exist for the compiler alone, like Drizzle's `$inferSelect`. */
interface Phantom<Payload, Result> {
  readonly $payload: Payload;
  readonly $result: Result;
}

const onCompletes: readonly OnComplete[] = ['delete', 'keep'];

const jobTypes = new WeakSet<object>();

/** Whether this was made by {@link job}: plain JavaScript can hand over anything. */
export function isJobType(value: unknown): boolean {
  return typeof value === 'object' && value !== null && jobTypes.has(value);
}
