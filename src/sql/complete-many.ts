/** The `complete` move for runs of kinds that keep nothing, many in one statement: what almost every finish is. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { idArray, textArray } from '../database/parameters.js';
import { rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { byClaim, type ClaimedId } from '../words/outcome.js';
import { answerOf, type Finished, lockedMine, whyNotMine } from './finished.js';

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
${lockedMine(jobs)},
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
  const keptOf = byClaim(kept.map(answerOf));
  return claims.map((claim) => {
    const result = keptOf(claim)?.result ?? 'done';
    return { id: claim.id, lockedBy: claim.lockedBy, result, state: null, dueInMs: null };
  });
}
