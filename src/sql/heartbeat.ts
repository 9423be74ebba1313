/** The `heartbeat` move: the worker's sign of life for the jobs it has. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { idArray, textArray } from '../database/parameters.js';
import { numberOf, rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { ClaimedId } from '../words/outcome.js';

/**
 * - `ours`: renewed
 * - `busy`: another transaction holds the row at this moment (a handler's open `complete(tx)`); nobody can rescue it
 * - `lost`: the row has another claim, or a person moved it
 * - `gone`: there is no such row any more, or it is completed and kept
 */
export type Pulse = 'ours' | 'busy' | 'lost' | 'gone';

export interface Heartbeat extends ClaimedId {
  readonly pulse: Pulse;
}

/**
 * Renews the named claims and says of each how it stands. Jobs are named one by one: "all that this worker has"
 * would keep alive for ever the rows of a claim whose answer was lost. Never waits for a row lock. [] for [].
 */
export async function heartbeat(
  db: Executor,
  jobs: TableName,
  claims: readonly ClaimedId[],
): Promise<Heartbeat[]> {
  if (claims.length === 0) return [];
  const ids = idArray(claims.map(({ id }) => id));
  const result = await rows(
    db,
    sql`
with asked as (
  select asked.id, asked.locked_by
  from   unnest(${ids}, ${textArray(claims.map(({ lockedBy }) => lockedBy))}) as asked(id, locked_by)
),
mine as materialized (  -- locks first, in id order and without waiting: no deadlock, and no stall behind a handler
  select job.id, job.locked_by
  from   ${jobs} as job
  where  job.id = any(${ids}) and job.state = 'running'
    -- coalesce makes it one hash table: as a join it may go through the whole list for each job
    and  coalesce((job.id, job.locked_by) in (select asked.id, asked.locked_by from asked), false)
  order  by job.id
  for no key update skip locked
),
renewed as (
  update ${jobs} as job
  set    heartbeat_at = clock_timestamp()  -- not now(): that is when the transaction began
  where  job.id = any(array(select mine.id from mine))
)
select asked.id,
       asked.locked_by as "lockedBy",
       case
         when exists (select 1 from mine where mine.id = asked.id and mine.locked_by = asked.locked_by) then 'ours'
         when exists (select 1 from ${jobs} as job
                      where  job.id = asked.id and job.state = 'running' and job.locked_by = asked.locked_by) then 'busy'
         when exists (select 1 from ${jobs} as job where job.id = asked.id and job.state <> 'completed') then 'lost'
         else 'gone'
       end as pulse
from   asked`,
  );
  return result.map((row) => ({
    id: numberOf(row['id']),
    lockedBy: textOf(row['lockedBy']),
    pulse: pulseOf(textOf(row['pulse'])),
  }));
}

function pulseOf(text: string): Pulse {
  return text === 'ours' || text === 'busy' || text === 'gone' ? text : 'lost';
}
