/** What a finish answers: whether it counted, and else why not. */
import { type SQL, sql } from 'drizzle-orm';
import { numberOf, type Row, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { ClaimedId } from '../words/outcome.js';

/**
 * - `done`: written; the row is deleted, or in `state` and due in `dueInMs`. One that was to run once more is due in
 *   `dueInMs`, whatever `state` its run has ended in
 * - `busy`: another transaction holds the row at this moment: ask again
 * - `lost`: the row has another claim, or a person moved it; nothing was changed
 * - `gone`: there is no such row any more, or it is completed and kept; nothing was changed
 * - `refused`: the row is ours, and Postgres changed nothing without an error: row-level security has no policy for the
 *   command, or a trigger of the app returned null
 * - `again`: nothing was changed, since the job is to run once more: the end belongs into `finish`
 */
export interface Finished extends ClaimedId {
  readonly result: 'done' | 'busy' | 'lost' | 'gone' | 'refused' | 'again';
  readonly state: string | null;
  readonly dueInMs: number | null;
  /** Where a row that is there waits: an enqueue that asked for one more run may have moved it. */
  readonly queue?: string;
}

/** Of a claim that was not locked: what its row, left-joined as `job`, says about that. */
export function whyNotMine(asked: SQL): SQL {
  return sql`case
           when job.id is null or job.state = 'completed'                  then 'gone'
           when job.state = 'running' and job.locked_by = ${asked}.locked_by then 'busy'
           else 'lost'
         end`;
}

/** `mine`: the rows of `asked` that run under its claims, and are not to run once more. */
export function lockedMine(jobs: TableName): SQL {
  return sql`mine as materialized (  -- locks first, in id order and without waiting: no deadlock, and no stall behind a handler
  select job.id, job.locked_by
  from   ${jobs} as job
  where  job.id = any(array(select asked.id from asked)) and job.state = 'running' and job.again is null
    -- coalesce makes it one hash table: as a join it may go through the whole list for each job
    and  coalesce((job.id, job.locked_by) in (select asked.id, asked.locked_by from asked), false)
  order  by job.id
  for update skip locked
)`;
}

/** A row with the columns "id", "lockedBy" and "result". */
export function answerOf(row: Row): ClaimedId & Pick<Finished, 'result'> {
  return {
    id: numberOf(row['id']),
    lockedBy: textOf(row['lockedBy']),
    result: resultOf(textOf(row['result'])),
  };
}

const results = ['done', 'busy', 'gone', 'refused', 'again'] as const;

function resultOf(text: string): Finished['result'] {
  return results.find((result) => result === text) ?? 'lost';
}
