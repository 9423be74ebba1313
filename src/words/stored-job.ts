/** A job as it is read. */
import type { JobError } from './row-types.js';
import type { State } from './states.js';

/** A job as it is in the table. */
export interface StoredJob<Kind extends string, Payload, Result> {
  readonly id: number;
  readonly queue: string;
  readonly kind: Kind;
  /** Upgraded to the version of the registry, else unchecked: as whatever release has enqueued it. */
  readonly payload: Payload;
  /** That of the registry; another one where the payload could not be upgraded, and is as it was stored. */
  readonly payloadVersion: number;
  readonly priority: number;
  /** Not before this; also the time of a retry. An infinite one is the end of the year 9999, or the beginning of 1. */
  readonly runAt: Date;
  readonly state: State;
  /** How often it has started. */
  readonly attempts: number;
  readonly maxAttempts: number;
  /** The handler's time limit, where this job has one of its own. */
  readonly timeoutMs: number | null;
  /** The claim that has it, while it runs: `<worker>/<n>`. */
  readonly lockedBy: string | null;
  /** The latest sign of life of its worker, while it runs. */
  readonly heartbeatAt: Date | null;
  /** When the running attempt was claimed. */
  readonly startedAt: Date | null;
  readonly lastError: string | null;
  /** The latest ten failed attempts. */
  readonly errors: readonly JobError[];
  readonly dedupeKey: string | null;
  readonly meta: { readonly [key: string]: unknown } | null;
  /** What the handler gave, of a completed job. */
  readonly result: Result;
  readonly createdAt: Date;
  /** When it was over: completed, discarded or cancelled. */
  readonly finishedAt: Date | null;
}
