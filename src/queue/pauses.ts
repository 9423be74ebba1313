/** What can be paused, as types: the part of a queue that `make-pauses.ts` makes. */
import type { Executor } from '../database/executor.js';
import type { AnyRegistry } from '../registry/registry.js';
import type { QueueNames } from './enqueue-args.js';

/** A queue with all that is on it, or a kind with its aliases, on whatever queue. */
export type Pausable<R extends AnyRegistry> =
  | { readonly queue: QueueNames<R>; readonly kind?: undefined }
  | { readonly kind: keyof R['kinds'] & string; readonly queue?: undefined };

/** What is paused, and since when. */
export type Paused<R extends AnyRegistry> = Pausable<R> & { readonly pausedAt: Date };

/** `unchanged`: it was paused already, or was not paused. */
export interface PauseAnswer {
  readonly result: 'done' | 'unchanged';
}

/**
 * Pauses. They are kept in the table `job_limits`, so they outlast every worker and the server, and hold for every process.
 * Each takes a transaction or a database first, and counts from its commit on. Usable detached.
 *
 * Each throws QueueError `INVALID_OPTION`, `INVALID_EXECUTOR`, `TABLE_MISMATCH` (there is no such table); errors of Postgres
 * come as Drizzle throws them, 42501 where the role may not.
 */
export interface Pauses<R extends AnyRegistry, Tx> {
  /**
   * Has no worker start jobs of this queue, or of this kind, until it is resumed. Those that run end as usual; their retries,
   * and what is enqueued, wait. A worker that listens heeds it as soon as the transaction has committed, another one within
   * two seconds; a claim that is under way may still take jobs. What is paused twice, once as a queue and once as a kind, is
   * resumed twice.
   *
   * Waits for another open transaction that pauses or resumes the same.
   *
   * @throws QueueError also, before any SQL, `UNKNOWN_QUEUE`, `UNKNOWN_KIND` (an alias is none), `TRANSACTION_REQUIRED`
   */
  pause(tx: Tx, what: Pausable<R>): Promise<PauseAnswer>;
  /**
   * Has workers start its jobs again, at once where they listen, else within two seconds. Takes what {@link paused} gives as
   * well, also what the registry does not have any more.
   *
   * @throws QueueError also `TRANSACTION_REQUIRED`
   */
  resume(tx: Tx, what: Pausable<R> & { readonly pausedAt?: Date | undefined }): Promise<PauseAnswer>;
  /**
   * What is paused, that which was paused first in front; a kind once, under the name that the registry has for it. It is what
   * the table has: the names of another release may be among them.
   */
  paused(db: Executor): Promise<Paused<R>[]>;
}
