/**
 * The finishing moves of a worker but `complete` (`fail`, `discard`, `snooze`, `release`), many in one statement. That one is
 * in `complete-many.ts`, and in `keep-many.ts` for kinds that keep their rows; here it is for jobs that are to run once more.
 *
 * A run changes its row only while the row is running under that run's claim, so a late finish changes nothing.
 *
 * A job that is to run once more begins anew where its run would have been its last. Where it has another before it anyway
 * (a retry, a snooze, a release), that is the one: the row has said since it was asked for what it is to run.
 */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { jsonb } from '../database/parameters.js';
import { numberOf, type Row, rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { errorBrief, errorText } from '../words/error-text.js';
import { byClaim, type ClaimedId, type Outcome } from '../words/outcome.js';
import { usualBackoff } from './backoff.js';
import { loggedErrors } from './errors-log.js';
import { answerOf, type Finished, whyNotMine } from './finished.js';

/** How a run ended; `complete` only of a job that is to run once more. */
export interface Finish extends ClaimedId {
  readonly outcome: Outcome;
}

/** Of `ending` and its `job`: the run would have been the last one, and is not. */
const anew = sql`(job.again is not null and ending.state <> 'available')`;

/**
 * Writes how runs ended and says of each whether it counted, in the order given. Never waits for a row lock.
 * One bad value fails the whole statement with an SQLSTATE that `isRowFault` knows: then send them one by one.
 */
export async function finish(
  db: Executor,
  jobs: TableName,
  finishes: readonly Finish[],
): Promise<Finished[]> {
  if (finishes.length === 0) return [];
  const asked = jsonb(JSON.stringify(finishes.map(asRow)));
  const result = await rows(
    db,
    sql`
with asked as materialized (
  select *
  from   jsonb_to_recordset(${asked}) as asked(
           id bigint, locked_by text, move text, delay_ms bigint, run_at timestamptz, started boolean, error text, brief text)
),
mine as materialized (  -- locks first, in id order and without waiting: no deadlock, and no stall behind a handler
  select job.id, job.locked_by, job.attempts, job.max_attempts
  from   ${jobs} as job
  where  job.id = any(array(select asked.id from asked)) and job.state = 'running'
    -- coalesce makes it one hash table: as a join it may go through the whole list for each job
    and  coalesce((job.id, job.locked_by) in (select asked.id, asked.locked_by from asked), false)
  order  by job.id
  for update skip locked
),
ending as materialized (
  select mine.id,  -- null where the run does not have the job
         asked.move, asked.error, asked.brief, asked.run_at, asked.delay_ms,
         case
           when asked.move = 'complete'                                           then 'completed'
           when asked.move = 'discard'                                            then 'discarded'
           when asked.move = 'fail' and mine.attempts >= mine.max_attempts         then 'discarded'
           -- A stop of the worker never uses up the last attempt, but a job that outlives every stop ends some time.
           when asked.move = 'release' and asked.started and mine.attempts > mine.max_attempts then 'discarded'
           else 'available'
         end as state,
         case
           when asked.move = 'snooze' or (asked.move = 'release' and not asked.started) then greatest(mine.attempts - 1, 0)
           else mine.attempts
         end as attempts
  from   asked  -- a left join, for the planner's estimate: an inner one looks like one row, and moved would be a nested loop
  left   join mine using (id, locked_by)
),
moved as (
  update ${jobs} as job
  set    state        = case when job.again is not null then 'available' else ending.state end,
         attempts     = case when ${anew} then 0 else ending.attempts end,
         locked_by    = null,
         heartbeat_at = null,
         started_at   = null,
         finished_at  = case when ending.state <> 'available' and job.again is null then clock_timestamp() end,
         run_at       = case
                          when ${anew} then greatest(job.run_at, clock_timestamp())
                          when ending.move = 'fail'   then clock_timestamp() + coalesce(ending.delay_ms::float8 * interval '1 millisecond',
                                                                                        ${usualBackoff(sql`job.attempts`)})
                          when ending.move = 'snooze' then coalesce(ending.run_at, clock_timestamp() + ending.delay_ms::float8 * interval '1 millisecond')
                          else job.run_at
                        end,
         last_error   = case
                          when ending.move = 'complete' then null
                          when ending.state = 'discarded' then coalesce(ending.error, ending.brief, job.last_error)
                          else coalesce(ending.error, job.last_error)
                        end,
         errors       = case when ending.move = 'complete' then '[]' when ending.brief is null then job.errors else ${loggedErrors(sql`ending.brief`)} end,
         again        = null,
         created_at   = case when ${anew} then clock_timestamp() else job.created_at end
  from   ending
  where  job.id = ending.id
    and  job.id = any(array(select ending.id from ending))
  returning job.id, job.queue, ending.state,
            -- seconds, then the difference: Postgres before 17 cannot subtract from a run_at that is infinite
            (extract(epoch from job.run_at)::float8 - extract(epoch from clock_timestamp())::float8) * 1000::float8 as due_in_ms
)
select asked.id,
       asked.locked_by as "lockedBy",
       case
         when exists (select 1 from mine where mine.id = asked.id and mine.locked_by = asked.locked_by)
           then case when moved.id is null then 'refused' else 'done' end
         else ${whyNotMine(sql`asked`)}
       end as result,
       moved.state,
       moved.queue,
       moved.due_in_ms as "dueInMs"
from   asked
left   join ${jobs} as job on job.id = asked.id and job.id = any(array(select asked.id from asked))
left   join moved on moved.id = asked.id`,
  );
  const answered = byClaim(result.map(finishedOf));
  return finishes.map(({ id, lockedBy }) => {
    // Every claim that was asked is answered; one that is not would be asked again.
    return answered({ id, lockedBy }) ?? { id, lockedBy, result: 'busy', state: null, dueInMs: null };
  });
}

function finishedOf(row: Row): Finished {
  const answer = answerOf(row);
  // A job that this run had lost may have moved by the end of another of its runs in the same batch.
  if (answer.result !== 'done' || row['state'] == null) return { ...answer, state: null, dueInMs: null };
  const [state, queue] = [textOf(row['state']), textOf(row['queue'])];
  return { ...answer, state, dueInMs: numberOf(row['dueInMs']), queue };
}

function asRow({ id, lockedBy, outcome }: Finish) {
  const row = { id, locked_by: lockedBy, move: outcome.move };
  switch (outcome.move) {
    case 'complete':
      return row;
    case 'fail':
      return { ...row, delay_ms: outcome.delayMs, ...recorded(outcome.error) };
    case 'discard':
      return { ...row, ...recorded(outcome.error) };
    case 'snooze':
      return 'runAt' in outcome.when
        ? { ...row, run_at: outcome.when.runAt }
        : { ...row, delay_ms: outcome.when.delayMs };
    case 'release':
      return outcome.started
        ? { ...row, started: true, brief: 'the worker was stopped while the handler ran' }
        : { ...row, started: false };
  }
}

function recorded(error: unknown) {
  return { error: errorText(error), brief: errorBrief(error) };
}
