/** The types of handlers and of what they are given, inferred from the registry. */
import type { Transaction } from '../database/executor.js';
import type { AnyRegistry, JobTypes } from './registry.js';

const isSettled: unique symbol = Symbol('settled');

/** The answer of {@link JobContext.snooze} and its like: proof, for the compiler, that the run has an outcome. */
export interface Settled {
  readonly [isSettled]: true;
}

/** The one value of {@link Settled}. */
export const settled: Settled = Object.freeze<Settled>({ [isSettled]: true });

/** What the outcome calls return: nothing for kinds without a result, so that `noImplicitReturns` stays content. */
export type Ended<Result> = [Result] extends [void] ? void : Settled;

/** What a handler is told about its job, and the ways to end it other than returning or throwing. */
export interface JobContext<Kind extends string = string, Result = void> {
  readonly id: number;
  /** As the registry has it, also where the row is called by an alias. */
  readonly kind: Kind;
  /** The queue it was claimed from. */
  readonly queue: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** The claim that has the job, `<worker>/<n>`: never used twice, so it serves as a fencing token. */
  readonly lockedBy: string;
  /** What its enqueue gave as `meta`, or undefined. */
  readonly meta: { readonly [key: string]: unknown } | undefined;
  /**
   * Aborts at the kind's time limit (`HANDLER_TIMEOUT`), when another worker has the job (`JOB_LOST`), and when the
   * worker stops and the grace is over (`WORKER_STOPPED`). Hand it on: `fetch(url, { signal: job.signal })`.
   */
  readonly signal: AbortSignal;
  /** Runs the job again later without counting this attempt. Write `return job.snooze(…)`. */
  snooze(when: { readonly delayMs: number } | { readonly runAt: Date | string }): Ended<Result>;
  /** Ends the job as discarded: another attempt is not worth it. Write `return job.discard(…)`. */
  discard(reason: string): Ended<Result>;
  /**
   * Ends the job inside the handler's own transaction: its writes and the job's end commit together or not at all.
   * Rejects with `JOB_LOST`, which rolls the transaction back, when the job is not this run's any more. Where the kind keeps
   * its rows, the result stays in the row; one that JSON cannot carry is refused with `INVALID_RESULT`, before any SQL.
   */
  complete(tx: Transaction, result: Result): Promise<Ended<Result>>;
}

/** Runs the jobs of one kind. What it returns must be what the kind's definition says. */
export type Handler<Payload, Result, Kind extends string = string> = (
  payload: Payload,
  job: JobContext<Kind, Result>,
) => Result | Ended<Result> | Promise<Result | Ended<Result>>;

/** Handlers by kind. In files of their own: `{ … } satisfies Partial<Handlers<typeof registry>>`. */
export type Handlers<R extends AnyRegistry, Kind extends keyof R['kinds'] = keyof R['kinds']> = {
  [K in Kind & string]: Handler<R['kinds'][K]['$payload'], R['kinds'][K]['$result'], K>;
};

/** The kinds whose queue is one of these. */
export type KindsOn<Kinds extends JobTypes, Queue> = {
  [K in keyof Kinds & string]: Kinds[K]['$queue'] extends Queue ? K : never;
}[keyof Kinds & string];
