/** Jobs that are over, by what a person says of them. */
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { FinalState } from '../words/states.js';
import { conditionsOf, fits, type JobFilter } from './job-filter.js';

export interface FinalFilter extends JobFilter {
  readonly state?: FinalState | undefined;
}

/** Whether `job` is over and fits. */
export function isFinal(filter: FinalFilter): SQL {
  const isOver = sql`job.state in ('completed', 'discarded', 'cancelled') and job.finished_at is not null`;
  return fits([...(filter.state === undefined ? [isOver] : []), ...conditionsOf(filter)]);
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
