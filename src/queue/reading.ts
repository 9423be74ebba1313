/** What a queue tells of the jobs that are there, as types: the part of it that `make-reading.ts` makes. */
import type { Database, Executor } from '../database/executor.js';
import type { AnyRegistry } from '../registry/registry.js';
import type { DeadLetterGroup } from '../words/dead-letters.js';
import type { JobCounts } from '../words/job-counts.js';
import type { StoredPayload, StoredResult } from '../words/row-types.js';
import type { State } from '../words/states.js';
import type { StoredJob } from '../words/stored-job.js';

/** A job of one of these kinds, told apart by `kind`: `JobOf<typeof registry>`, `JobOf<typeof registry, 'sendReceipt'>`. */
export type JobOf<R extends AnyRegistry, Kind extends keyof R['kinds'] = keyof R['kinds']> = {
  [K in Kind & string]: StoredJob<
    K,
    StoredPayload<R['kinds'][K]['$payload']>,
    StoredResult<R['kinds'][K]['$result']>
  >;
}[Kind & string];

/** Which jobs are meant: those that fit all that is said. */
export interface JobConditions<Kind extends string = string> {
  /** Of this kind. @default any */
  readonly kind?: Kind | undefined;
  /** Of this queue. @default any */
  readonly queue?: string | undefined;
}

/** Conditions on jobs that have failed, or are over. */
export interface EndConditions<Kind extends string = string> extends JobConditions<Kind> {
  /** Over before this instant: a Date, or ISO text with a zone. @default any time, or not over */
  readonly finishedBefore?: Date | string | undefined;
  /** Over after this instant. @default any time, or not over */
  readonly finishedAfter?: Date | string | undefined;
  /** A part of `last_error`, letter by letter; no pattern. @default any, or none */
  readonly errorMatches?: string | undefined;
}

/** What {@link Reading.list} takes. */
export interface ListFilter<Kind extends string = string> extends EndConditions<Kind> {
  /** @default any */
  readonly state?: State | undefined;
  /** By id, which is the order in which they were enqueued. @default 'newest' */
  readonly order?: 'newest' | 'oldest' | undefined;
  /** So many at most, from 1 to 1000. @default 100 */
  readonly limit?: number | undefined;
  /** What the page before gave as `next`. @default the first page */
  readonly after?: number | undefined;
}

/** What {@link Reading.list} gives. */
export interface JobPage<Job> {
  readonly jobs: readonly Job[];
  /** For the option `after`, where there are more. A page may have fewer than `limit` all the same: it ends at about 4 MB. */
  readonly next: number | undefined;
}

/** What {@link Reading.counts} takes. */
export interface CountFilter<Kind extends string = string> extends JobConditions<Kind> {
  /** Only those in this state; the others count as none. @default any */
  readonly state?: State | undefined;
}

/** What {@link Reading.deadLetters} takes. */
export interface DeadLetterFilter<Kind extends string = string> extends EndConditions<Kind> {
  /** So many groups at most, from 1 to 1000: the largest. @default 100 */
  readonly limit?: number | undefined;
}

/** What {@link Reading.wait} takes. */
export interface WaitOptions {
  /** How long to wait, from 0 (which looks once) to 86400000. @default 30_000 */
  readonly timeoutMs?: number | undefined;
}

/** The kind, if its rows stay when their jobs complete; else why it cannot be waited for. */
export type KeptKind<
  R extends AnyRegistry,
  Kind extends keyof R['kinds'],
> = R['kinds'][Kind]['$onComplete'] extends 'keep'
  ? Kind
  : "a job of this kind is deleted when it completes: define it with .onComplete('keep') to wait for its result";

/**
 * Reads jobs. Each takes a database or a transaction first, is one statement, changes nothing and locks nothing. Usable
 * detached. Kinds and payloads have the types that the registry gives them today, and jobs are as `queue.read` gives rows:
 * aliases and upgrades applied. Rows of kinds that the registry does not have any more are read as well, as they are.
 * `kind` also finds rows that have an alias of it; `counts` and `deadLetters` call these by that.
 *
 * Each throws QueueError before any SQL: `INVALID_OPTION`, `INVALID_EXECUTOR`. Errors of Postgres come as Drizzle throws
 * them.
 */
export interface Reading<R extends AnyRegistry> {
  /** One job; undefined where there is none of this id, as of one that has completed and was not kept. */
  get(db: Executor, id: number): Promise<JobOf<R> | undefined>;
  /**
   * A page of jobs. The next one is the same call with `after: page.next`; jobs that come or go in between are on neither
   * page twice.
   */
  list<Kind extends keyof R['kinds'] & string = keyof R['kinds'] & string>(
    db: Executor,
    filter?: ListFilter<Kind>,
  ): Promise<JobPage<JobOf<R, Kind>>>;
  /** How many jobs there are of each queue and kind, those with none left out; by the names of queue and kind. */
  counts<Kind extends keyof R['kinds'] & string = keyof R['kinds'] & string>(
    db: Executor,
    filter?: CountFilter<Kind>,
  ): Promise<JobCounts<Kind>[]>;
  /** The discarded jobs in groups of one kind and much the same error, the largest first. */
  deadLetters<Kind extends keyof R['kinds'] & string = keyof R['kinds'] & string>(
    db: Executor,
    filter?: DeadLetterFilter<Kind>,
  ): Promise<DeadLetterGroup<Kind>[]>;
  /**
   * Waits until a job is over and gives what its handler gave. Only for kinds that keep their rows
   * (`.onComplete('keep')`), by type and at run time. It looks again and again, after a quarter of the time that it has
   * waited: 20 ms at least, a second at most. Takes no transaction: a job that was enqueued in it would never start.
   *
   * @throws QueueError `JOB_DISCARDED` (with `lastError` in `data`), `JOB_CANCELLED`, `JOB_NOT_FOUND` (there is none of this
   * id and kind, or not any more), `WAIT_TIMEOUT`; before any SQL also `UNKNOWN_KIND`, `KIND_NOT_KEPT`
   */
  wait<Kind extends keyof R['kinds'] & string>(
    db: Database,
    kind: KeptKind<R, Kind>,
    id: number,
    options?: WaitOptions,
  ): Promise<R['kinds'][Kind]['$result']>;
}
