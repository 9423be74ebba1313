/** What a handler's `complete(tx)` makes of its job's row, in the handler's own transaction. */
import { assertTransaction, mayHaveReconnected, type Transaction } from '../database/executor.js';
import type { TableName } from '../database/table-name.js';
import { completeAgainIn, completeIn, requireOpenTransaction } from '../sql/complete.js';
import { keepIn } from '../sql/keep.js';
import type { ClaimedId, Kept } from '../words/outcome.js';

export interface Ended {
  /** The job was to run once more, so its row waits for that, on this queue; else it is deleted, or kept with its result. */
  readonly anewOn?: string;
}

/** Undefined when the job is not that run's any more. Rejects for what is no transaction. */
export type EndIn = (tx: Transaction, job: ClaimedId, kept: Kept | undefined) => Promise<Ended | undefined>;

/** Of jobs in this table. */
export function endingIn(table: TableName): EndIn {
  return async (tx, job, kept) => {
    assertTransaction(tx, 'job.complete(tx) ends the job together with your writes.');
    // One round trip more, and only there: a job that ends outside of its transaction has lost its writes.
    if (mayHaveReconnected(tx)) await requireOpenTransaction(tx);
    if (await (kept ? keepIn(tx, table, job, kept) : completeIn(tx, table, job))) return over;
    const anewOn = await completeAgainIn(tx, table, job);
    return anewOn === undefined ? undefined : { anewOn };
  };
}

const over: Ended = {};
