/** What a person does to jobs that are there, as types: the part of a queue that `make-moves.ts` makes. */
import type { AnyRegistry } from '../registry/registry.js';
import type { FinalState, State } from '../words/states.js';
import type { UpdateArgs } from './enqueue-args.js';

/**
 * What a move answers for one id. `result` is:
 * - `done`: moved; `state` is the new one, or null for a row that was deleted
 * - `gone`: there is no such job
 * - `refused`: the job is in `state`, from which the move does not lead (or Postgres changed nothing without an error: a
 *   trigger or a policy of the app's)
 * - `busy`: somebody holds the row at this moment, such as a handler's open `complete(tx)`. Nothing waited: ask again
 */
export type MoveAnswer<To extends State | null = State | null> =
  | { readonly id: number; readonly result: 'done'; readonly state: To }
  | { readonly id: number; readonly result: 'gone'; readonly state: null }
  | { readonly id: number; readonly result: 'refused' | 'busy'; readonly state: State };

/** What a replay answers for one id: `duplicate` where its dedupe key has an unfinished job, so that it stays in `state`. */
export type ReplayAnswer =
  | MoveAnswer<'available'>
  | { readonly id: number; readonly result: 'duplicate'; readonly state: State };

/** One answer for one id, a list for a list. */
export type AnswersFor<Ids extends number | readonly number[], Answer> = Ids extends number
  ? Answer
  : Answer[];

/** What {@link Moves.replay} takes besides the jobs. */
export interface ReplayOptions {
  /**
   * Answers what it would do, and leaves everything as it was. It is done and rolled back, so it needs the same rights.
   * @default false
   */
  readonly preview?: boolean | undefined;
}

/** Which jobs to replay: those that fit all that is said. */
export interface ReplayFilter<Kind extends string = string> {
  /** @default 'discarded' */
  readonly state?: FinalState | undefined;
  /** Of this kind, also those that are called one of its aliases. @default any */
  readonly kind?: Kind | undefined;
  /** Of this queue. @default any */
  readonly queue?: string | undefined;
  /** Over before this instant: a Date, or ISO text with a zone. @default any time */
  readonly finishedBefore?: Date | string | undefined;
  /** Over after this instant. @default any time */
  readonly finishedAfter?: Date | string | undefined;
  /** A part of `last_error`, letter by letter; no pattern. @default any, or none */
  readonly errorMatches?: string | undefined;
  /**
   * So many at most, from 1 to 100000: those that were over first. A skipped duplicate counts.
   * @default 1_000
   */
  readonly limit?: number | undefined;
}

/** When a job is to run: in so many ms from now, or at an instant (a Date, or ISO text with a zone). */
export type RescheduleTime =
  | { readonly delayMs: number; readonly runAt?: undefined }
  | { readonly runAt: Date | string; readonly delayMs?: undefined };

/**
 * Moves that a person makes. Each takes a transaction or a database first, and an id or a list of ids: one gives one
 * answer, a list as many, in its order. None waits for a row that somebody holds. A list of more than 1,000 is several
 * statements in one transaction; the empty list sends no SQL. Usable detached.
 *
 * Each throws QueueError before any SQL: `INVALID_OPTION` (an id that is no whole number from 1 to 2^53 - 1, an unknown
 * option), `INVALID_EXECUTOR`, `TRANSACTION_REQUIRED`. Errors of Postgres come as Drizzle throws them.
 */
export interface Moves<R extends AnyRegistry, Tx> {
  /**
   * A job that waits (also for a retry) or runs becomes `cancelled`, and is not retried. The `signal` of a handler that
   * runs it aborts: at once where its worker listens, else at its next heartbeat. How that handler ends changes nothing
   * any more, and is a `lost` event of the worker.
   */
  cancel<Ids extends number | readonly number[]>(
    tx: Tx,
    ids: Ids,
  ): Promise<AnswersFor<Ids, MoveAnswer<'cancelled'>>>;
  /**
   * Jobs that are over (`discarded`, `cancelled`, `completed`) are due again, from their first attempt; their errors stay.
   * Of jobs with the same dedupe key only that of the lowest id goes, and none while an unfinished one has it: those are
   * `duplicate`. By a filter, the answers are those of the jobs it found, those first that were over first.
   */
  replay<Ids extends number | readonly number[]>(
    tx: Tx,
    ids: Ids,
    options?: ReplayOptions,
  ): Promise<AnswersFor<Ids, ReplayAnswer>>;
  replay(
    tx: Tx,
    filter: ReplayFilter<keyof R['kinds'] & string>,
    options?: ReplayOptions,
  ): Promise<ReplayAnswer[]>;
  /** Gives a waiting job another time: `{ delayMs }` from now, from 0 to a hundred years, or `{ runAt }`. */
  reschedule(tx: Tx, id: number, when: RescheduleTime): Promise<MoveAnswer<'available'>>;
  /** A waiting job is due now, also one that waits for a retry. */
  runNow(tx: Tx, id: number): Promise<MoveAnswer<'available'>>;
  /**
   * Gives a waiting job of this kind, or of one of its aliases, another payload, checked like that of an enqueue, and the
   * version that the kind has now. Of a kind without a payload it is left out: a job of a release that had one gets `{}`.
   * A job of another kind is `refused`.
   *
   * @throws QueueError also `UNKNOWN_KIND`, `INVALID_PAYLOAD`
   */
  update<Kind extends keyof R['kinds'] & string>(
    tx: Tx,
    kind: Kind,
    id: number,
    ...args: UpdateArgs<R, Kind>
  ): Promise<MoveAnswer<'available'>>;
  /** Deletes a job, whatever its state. The `signal` of a handler that runs it aborts as by {@link cancel}. */
  remove<Ids extends number | readonly number[]>(
    tx: Tx,
    ids: Ids,
  ): Promise<AnswersFor<Ids, MoveAnswer<null>>>;
}
