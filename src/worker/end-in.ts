/** What a handler's `complete(tx)` makes of its job's row, in the handler's own transaction. */
import { mayHaveReconnected, type Transaction } from '../database/executor.js';
import type { TableName } from '../database/table-name.js';
import { completeAgainIn, completeIn, requireOpenTransaction } from '../sql/complete.js';
import { keepIn } from '../sql/keep.js';
import type { ClaimedId, Kept } from '../words/outcome.js';

/** `over`: deleted, or kept with its result. `anew`: the job was to run once more, so its row waits for that. */
export type Ended = 'over' | 'anew';

/** Undefined when the job is not that run's any more. */
export async function endIn(
  tx: Transaction,
  table: TableName,
  job: ClaimedId,
  kept: Kept | undefined,
): Promise<Ended | undefined> {
  // One round trip more, and only there: a job that ends outside of its transaction has lost its writes.
  if (mayHaveReconnected(tx)) await requireOpenTransaction(tx);
  if (await (kept ? keepIn(tx, table, job, kept) : completeIn(tx, table, job))) return 'over';
  return (await completeAgainIn(tx, table, job)) ? 'anew' : undefined;
}
