/** The `cancel` move: a job that waits or runs is not wanted any more, nor the further run that was asked for. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import type { TableName } from '../database/table-name.js';
import { type MovedRow, move } from './persons-move.js';
import { toldOfChanges } from './told.js';

/** Cancels each of these jobs, and tells the workers of those that run. */
export function cancel(
  db: Executor,
  jobs: TableName,
  channel: string,
  ids: readonly number[],
): Promise<MovedRow[]> {
  return move(db, jobs, ids, {
    fits: sql`job.state in ('available', 'running')`,
    moved: sql`
  update ${jobs} as job
  set    state        = 'cancelled',
         finished_at  = clock_timestamp(),
         locked_by    = null,
         heartbeat_at = null,
         started_at   = null,
         again        = null
  where  job.id = any(array(select mine.id from mine))
  returning job.id, job.state`,
    told: toldOfChanges(channel),
  });
}
