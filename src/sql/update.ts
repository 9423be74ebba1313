/** The `update` move: a waiting job gets another payload. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { jsonb } from '../database/parameters.js';
import type { TableName } from '../database/table-name.js';
import { type MovedRow, move } from './persons-move.js';

/** Gives each of these jobs that payload, as JSON text, if it is of this kind. */
export function update(
  db: Executor,
  jobs: TableName,
  ids: readonly number[],
  kind: string,
  payload: string,
): Promise<MovedRow[]> {
  return move(db, jobs, ids, {
    fits: sql`job.state = 'available' and job.kind = ${kind}::text`,
    moved: sql`
  update ${jobs} as job
  set    payload = ${jsonb(payload)}
  where  job.id = any(array(select mine.id from mine))
  returning job.id, job.state`,
  });
}
