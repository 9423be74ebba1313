/** Jobs that are over, by what a person says of them. */
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { textArray } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { FinalState } from '../words/states.js';

/** What is left out does not matter. */
export interface FinalFilter {
  readonly state?: FinalState | undefined;
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

const states: { readonly [State in FinalState]: SQL } = {
  completed: sql`job.state = 'completed'`,
  discarded: sql`job.state = 'discarded'`,
  cancelled: sql`job.state = 'cancelled'`,
};

/** Whether `job` is over and fits. */
export function isFinal(filter: FinalFilter): SQL {
  const { state, kinds, queue, finishedBefore, finishedAfter, errorMatches } = filter;
  const conditions = [
    state === undefined ? sql`job.state in ('completed', 'discarded', 'cancelled')` : states[state],
    sql`job.finished_at is not null`, // so that it is found by when it ended
    ...(finishedBefore === undefined ? [] : [sql`job.finished_at < ${finishedBefore}::timestamptz`]),
    ...(finishedAfter === undefined ? [] : [sql`job.finished_at > ${finishedAfter}::timestamptz`]),
    ...(kinds === undefined ? [] : [sql`job.kind = any(${textArray(kinds)})`]),
    ...(queue === undefined ? [] : [sql`job.queue = ${queue}::text`]),
    // null where there is no error, and not false
    ...(errorMatches === undefined
      ? []
      : [sql`coalesce(pg_catalog.strpos(job.last_error, ${errorMatches}::text) > 0, false)`]),
  ];
  return sql.join(conditions, sql` and `);
}

/** The ids of the jobs that fit, those first that were over first. Locks nothing. */
export async function findFinal(
  db: Executor,
  jobs: TableName,
  filter: FinalFilter,
  limit: number,
): Promise<number[]> {
  const found = await rows(
    db,
    sql`
select job.id
from   ${jobs} as job
where  ${isFinal(filter)}
order  by job.finished_at
limit  ${limit}::int`,
  );
  return found.map((row) => numberOf(row['id']));
}
