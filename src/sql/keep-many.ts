/** The `complete` move for runs of kinds that keep their rows, many in one statement. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { idArray, jsonb, textArray } from '../database/parameters.js';
import { rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { byClaim, type ClaimedId, type Kept } from '../words/outcome.js';
import { answerOf, type Finished, lockedMine, whyNotMine } from './finished.js';

export interface KeptClaim extends ClaimedId, Kept {}

/**
 * Makes the jobs that still have their claim `completed`, with their results, and says of each how that went, in the order
 * given. Never waits for a row lock. One row that the database refuses (a character that it does not have, an app's trigger)
 * fails the whole statement with an SQLSTATE that `isRowFault` knows: then send them one by one.
 */
export async function keepMany(
  db: Executor,
  jobs: TableName,
  kept: readonly KeptClaim[],
): Promise<Finished[]> {
  if (kept.length === 0) return [];
  const ids = idArray(kept.map(({ id }) => id));
  const lockedBy = textArray(kept.map(({ lockedBy }) => lockedBy));
  // JSON text already: it goes in as it is, and none is an empty list, since null is a result too.
  const results = jsonb(`[${kept.map(({ result = '' }) => `[${result}]`).join(',')}]`);
  const answers = await rows(
    db,
    sql`
with asked as materialized (  -- selects: the estimate is that of unknown lists, so a plan for all values is as good
  select asked.id, asked.locked_by, asked.results -> 0 as result
  from   rows from (unnest((select ${ids})), unnest((select ${lockedBy})), jsonb_array_elements((select ${results})))
         as asked(id, locked_by, results)
),
${lockedMine(jobs)},
ending as materialized (
  select mine.id, asked.result  -- mine.id is null where the run does not have the job
  from   asked  -- a left join, for the planner's estimate: an inner one looks like one row, and kept would be a nested loop
  left   join mine using (id, locked_by)
),
kept as (
  update ${jobs} as job
  set    state        = 'completed',
         result       = ending.result,
         finished_at  = clock_timestamp(),
         locked_by    = null,
         heartbeat_at = null,
         started_at   = null
  from   ending
  where  job.id = ending.id
    and  job.id = any(array(select ending.id from ending))
  returning job.id
)
select asked.id,
       asked.locked_by as "lockedBy",
       case
         when exists (select 1 from mine where mine.id = asked.id and mine.locked_by = asked.locked_by)
           then case when kept.id is null then 'refused' else 'done' end
         when job.again is not null and job.locked_by = asked.locked_by then 'again'
         else ${whyNotMine(sql`asked`)}
       end as result
from   asked
left   join ${jobs} as job on job.id = asked.id and job.id = any(array(select asked.id from asked))
left   join kept on kept.id = asked.id`,
  );
  const answered = byClaim(answers.map(answerOf));
  return kept.map(({ id, lockedBy }) => {
    // Every claim that was asked is answered; one that is not would be asked again.
    const result = answered({ id, lockedBy })?.result ?? 'busy';
    return { id, lockedBy, result, state: result === 'done' ? 'completed' : null, dueInMs: null };
  });
}
