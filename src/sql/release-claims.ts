/**
 * The `release` move for claims whose answer was lost: rows are running under their names, but no worker knows which.
 */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { textArray } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';

/** Gives back every job of these claims, with the attempt, since no handler started. The ids of those it gave back. */
export async function releaseClaims(
  db: Executor,
  jobs: TableName,
  claims: readonly string[],
): Promise<number[]> {
  const released = await rows(
    db,
    sql`
with mine as materialized (
  select job.id
  from   ${jobs} as job
  where  job.state = 'running' and job.locked_by = any(${textArray(claims)})
  order  by job.id
  for update skip locked
)
update ${jobs} as job
set    state        = 'available',
       attempts     = greatest(job.attempts - 1, 0),
       locked_by    = null,
       heartbeat_at = null,
       started_at   = null,
       again        = null  -- the run before it is the one that was asked for
where  job.id = any(array(select mine.id from mine))
returning job.id`,
  );
  return released.map((row) => numberOf(row['id']));
}
