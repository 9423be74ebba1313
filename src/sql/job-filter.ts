/** Conditions on `job` that a person's filters are made of. */
import { type SQL, sql } from 'drizzle-orm';
import { textArray } from '../database/parameters.js';
import type { State } from '../words/states.js';

/** What is left out does not matter. */
export interface JobFilter {
  readonly state?: State | undefined;
  /** Called one of these. */
  readonly kinds?: readonly string[] | undefined;
  readonly queue?: string | undefined;
  /** ISO text with a zone; before and not at it. */
  readonly finishedBefore?: string | undefined;
  /** After and not at it. */
  readonly finishedAfter?: string | undefined;
  /** A part of `last_error`, letter by letter. */
  readonly errorMatches?: string | undefined;
}

/** Literals, so that partial indexes serve; of those that are over also what finds them by when that was. */
const states: { readonly [Name in State]: SQL } = {
  available: sql`job.state = 'available'`,
  running: sql`job.state = 'running'`,
  completed: sql`job.state = 'completed' and job.finished_at is not null`,
  discarded: sql`job.state = 'discarded' and job.finished_at is not null`,
  cancelled: sql`job.state = 'cancelled' and job.finished_at is not null`,
};

/** One condition for each thing that is said. */
export function conditionsOf(filter: JobFilter): SQL[] {
  const { state, kinds, queue, finishedBefore, finishedAfter, errorMatches } = filter;
  return [
    ...(state === undefined ? [] : [states[state]]),
    ...(finishedBefore === undefined ? [] : [sql`job.finished_at < ${finishedBefore}::timestamptz`]),
    ...(finishedAfter === undefined ? [] : [sql`job.finished_at > ${finishedAfter}::timestamptz`]),
    ...(kinds === undefined ? [] : [sql`job.kind = any(${textArray(kinds)})`]),
    ...(queue === undefined ? [] : [sql`job.queue = ${queue}::text`]),
    // null where there is no error, and not false
    ...(errorMatches === undefined
      ? []
      : [sql`coalesce(pg_catalog.strpos(job.last_error, ${errorMatches}::text) > 0, false)`]),
  ];
}

/** All of them, as the condition of a `where`. */
export function fits(conditions: readonly SQL[]): SQL {
  return conditions.length === 0 ? sql`true` : sql.join([...conditions], sql` and `);
}
