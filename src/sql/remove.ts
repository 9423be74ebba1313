/** The `remove` move: a row is deleted, whatever its state. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import type { TableName } from '../database/table-name.js';
import { type MovedRow, move } from './persons-move.js';
import { toldOfChanges } from './told.js';

/** Deletes each of these jobs, and tells the workers of those that run. */
export function remove(
  db: Executor,
  jobs: TableName,
  channel: string,
  ids: readonly number[],
): Promise<MovedRow[]> {
  return move(db, jobs, ids, {
    fits: sql`true`,
    moved: sql`
  delete from ${jobs} as job
  where  job.id = any(array(select mine.id from mine))
  returning job.id, null::text as state`,
    told: toldOfChanges(channel),
  });
}
