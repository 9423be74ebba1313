/** The `complete` move inside a handler's own transaction, for a kind that keeps its rows. */
import { sql } from 'drizzle-orm';
import type { Transaction } from '../database/executor.js';
import { rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { ClaimedId, Kept } from '../words/outcome.js';

/** As `completeIn`, of a row that stays with its result. */
export async function keepIn(
  tx: Transaction,
  jobs: TableName,
  { id, lockedBy }: ClaimedId,
  { result }: Kept,
): Promise<boolean> {
  const kept = await rows(
    tx,
    sql`
update ${jobs} as job
set    state        = 'completed',
       result       = ${result ?? null}::text::jsonb,
       finished_at  = clock_timestamp(),
       locked_by    = null,
       heartbeat_at = null,
       started_at   = null
where  job.id = ${id}::bigint and job.state = 'running' and job.locked_by = ${lockedBy} and job.again is null
returning job.id`,
  );
  return kept.length === 1;
}
