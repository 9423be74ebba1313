/** The `complete` move inside a handler's own transaction: its writes and the job's end commit together. */
import { sql } from 'drizzle-orm';
import type { Transaction } from '../database/executor.js';
import { rows, textOf } from '../database/rows.js';
import { sqlState } from '../database/sqlstate.js';
import type { TableName } from '../database/table-name.js';
import { QueueError } from '../words/errors.js';
import type { ClaimedId } from '../words/outcome.js';

const noTransaction = '25P01';

/**
 * Asks Postgres whether a transaction is open, where the driver does not know. The savepoint is never used, and ends
 * with the transaction.
 *
 * @throws QueueError `JOB_ROLLED_BACK` when there is none any more
 */
export async function requireOpenTransaction(tx: Transaction): Promise<void> {
  try {
    await rows(tx, sql`savepoint drizzle_queue_complete`);
  } catch (cause) {
    if (sqlState(cause) !== noTransaction) throw cause;
    throw new QueueError(
      'JOB_ROLLED_BACK',
      'The connection of this transaction broke and the driver made another, where there is no transaction: what was ' +
        'written in it is gone, and the job was not completed.',
      { cause },
    );
  }
}

/**
 * True when the job was ours and ends with this transaction; not when it is to run once more, which {@link completeAgainIn}
 * is for. May wait for a heartbeat that holds the row, which is safe: heartbeats, finishes and rescues never wait for anybody.
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
where  job.id = ${id}::bigint and job.state = 'running' and job.locked_by = ${lockedBy} and job.again is null
returning job.id`,
  );
  return deleted.length === 1;
}

/**
 * The queue on which the job begins anew with this transaction, when it was ours and is to run once more: the enqueue that
 * asked for it may have named another one.
 */
export async function completeAgainIn(
  tx: Transaction,
  jobs: TableName,
  { id, lockedBy }: ClaimedId,
): Promise<string | undefined> {
  const [updated] = await rows(
    tx,
    sql`
update ${jobs} as job
set    state        = 'available',
       attempts     = 0,
       locked_by    = null,
       heartbeat_at = null,
       started_at   = null,
       run_at       = greatest(job.run_at, clock_timestamp()),
       last_error   = null,
       errors       = '[]',
       again        = null,
       created_at   = clock_timestamp()
where  job.id = ${id}::bigint and job.state = 'running' and job.locked_by = ${lockedBy} and job.again is not null
returning job.queue`,
  );
  return updated && textOf(updated['queue']);
}
