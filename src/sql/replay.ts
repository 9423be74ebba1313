/** The `replay` move: a job that is over runs again, from its first attempt. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import type { TableName } from '../database/table-name.js';
import { type FinalFilter, isFinal } from './find-final.js';
import { type MovedRow, move } from './persons-move.js';
import { toldOfJobs } from './told.js';

/**
 * Replays each of these jobs that still fits the filter, and tells the workers. A job whose dedupe key an unfinished one
 * has stays where it is; of several with one key, that of the lowest id goes.
 *
 * An enqueue of such a key that commits meanwhile fails the whole statement with 23505: then send fewer at once.
 */
export function replay(
  db: Executor,
  jobs: TableName,
  channel: string,
  ids: readonly number[],
  filter: FinalFilter = {},
): Promise<MovedRow[]> {
  return move(db, jobs, ids, {
    fits: isFinal(filter),
    between: sql`ready as materialized (
  select mine.id
  from   (select mine.id, mine.kind, mine.dedupe_key,
                 row_number() over (partition by mine.kind, mine.dedupe_key order by mine.id) as n
          from   mine) as mine
  where  mine.dedupe_key is null
    or   (mine.n = 1 and (  -- with its limit it is no join, for which the planner might read the table
           select true
           from   ${jobs} as twin
           where  twin.kind = mine.kind and twin.dedupe_key = mine.dedupe_key
             and  twin.state in ('available', 'running') and twin.dedupe_key is not null
           limit  1) is null)
),
`,
    ready: sql`coalesce(mine.id in (select ready.id from ready), false)`,
    moved: sql`
  update ${jobs} as job
  set    state       = 'available',
         attempts    = 0,
         run_at      = clock_timestamp(),
         finished_at = null,
         result      = null
  where  job.id = any(array(select ready.id from ready))
  returning job.id, job.state, job.queue, true as due`,
    told: toldOfJobs(channel),
  });
}
