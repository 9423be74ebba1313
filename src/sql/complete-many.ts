/** The `complete` move for runs of kinds that keep nothing, many in one statement: what almost every finish is. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { idArray, textArray } from '../database/parameters.js';
import { numberOf, rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { byClaim, type ClaimedId } from '../words/outcome.js';
import { type Finished, resultOf, whyNotMine } from './finished.js';

/**
 * Deletes the jobs that still have their claim, and says of each how that went, in the order given; those that are to run
 * once more stay as they are (`again`). Never waits for a row lock. One row whose deletion the database refuses (an app's
 * trigger) fails the whole statement with an SQLSTATE that `isRowFault` knows: then send them one by one.
 */
export async function completeMany(
  db: Executor,
  jobs: TableName,
  claims: readonly ClaimedId[],
): Promise<Finished[]> {
  if (claims.length === 0) return [];
  const ids = idArray(claims.map(({ id }) => id));
  const lockedBy = textArray(claims.map(({ lockedBy }) => lockedBy));
  const kept = await rows(
    db,
    sql`
with asked as materialized (  -- selects: the estimate is that of unknown lists, so a plan for all values is as good
  select asked.id, asked.locked_by
  from   unnest((select ${ids}), (select ${lockedBy})) as asked(id, locked_by)
),
mine as materialized (  -- locks first, in id order and without waiting: no deadlock, and no stall behind a handler
  select job.id, job.locked_by
  from   ${jobs} as job
  where  job.id = any(array(select asked.id from asked)) and job.state = 'running' and job.again is null
    -- coalesce makes it one hash table: as a join it may go through the whole list for each job
    and  coalesce((job.id, job.locked_by) in (select asked.id, asked.locked_by from asked), false)
  order  by job.id
  for update skip locked
),
completed as (
  delete from ${jobs} as job
  where  job.id = any(array(select mine.id from mine))
  returning job.id, job.locked_by
),
kept as (  -- usually none: nothing is sent back then
  select asked.id, asked.locked_by
  from   asked
  where  (select count(*) from asked) > (select count(*) from completed)
    and  coalesce((asked.id, asked.locked_by) not in (select completed.id, completed.locked_by from completed), true)
)
select kept.id,
       kept.locked_by as "lockedBy",
       case
         when exists (select 1 from mine where mine.id = kept.id and mine.locked_by = kept.locked_by) then 'refused'
         when job.again is not null and job.locked_by = kept.locked_by then 'again'
         else ${whyNotMine(sql`kept`)}
       end as result
from   kept
left   join ${jobs} as job on job.id = kept.id and job.id = any(array(select kept.id from kept))`,
  );
  const keptOf = byClaim(
    kept.map((row) => ({
      id: numberOf(row['id']),
      lockedBy: textOf(row['lockedBy']),
      result: resultOf(textOf(row['result'])),
    })),
  );
  return claims.map((claim) => {
    const result = keptOf(claim)?.result ?? 'done';
    return { id: claim.id, lockedBy: claim.lockedBy, result, state: null, dueInMs: null };
  });
}
