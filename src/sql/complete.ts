/** The `complete` move inside a handler's own transaction: its writes and the job's end commit together. */
import { sql } from 'drizzle-orm';
import type { Transaction } from '../database/executor.js';
import { rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { ClaimedId } from '../words/outcome.js';

/**
 * True when the job was ours and ends with this transaction. May wait for a heartbeat that holds the row, which
 * is safe: heartbeats, finishes and rescues never wait for anybody.
 */
export async function completeIn(
  tx: Transaction,
  jobs: TableName,
  { id, lockedBy }: ClaimedId,
): Promise<boolean> {
  const deleted = await rows(
    tx,
    sql`
delete from ${jobs} as job
where  job.id = ${id}::bigint and job.state = 'running' and job.locked_by = ${lockedBy}
returning job.id`,
  );
  return deleted.length === 1;
}
