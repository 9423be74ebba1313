/** The `reschedule` move: a waiting job gets another time, which may be now. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import type { TableName } from '../database/table-name.js';
import type { When } from '../words/outcome.js';
import { type MovedRow, move } from './persons-move.js';
import { toldOfJobs } from './told.js';

/** Gives each of these jobs that time, and tells the workers of it. */
export function reschedule(
  db: Executor,
  jobs: TableName,
  channel: string,
  ids: readonly number[],
  when: When,
): Promise<MovedRow[]> {
  const runAt =
    'runAt' in when
      ? sql`${when.runAt}::timestamptz`
      : sql`clock_timestamp() + ${when.delayMs}::float8 * interval '1 millisecond'`;
  return move(db, jobs, ids, {
    fits: sql`job.state = 'available'`,
    moved: sql`
  update ${jobs} as job
  set    run_at = ${runAt}
  where  job.id = any(array(select mine.id from mine))
  returning job.id, job.state, job.queue, job.run_at <= clock_timestamp() as due`,
    told: toldOfJobs(channel),
  });
}
