/** A savepoint in a transaction that somebody else has begun, by a name that Drizzle does not give. */
import { sql } from 'drizzle-orm';
import type { Transaction } from '../database/executor.js';
import { rows } from '../database/rows.js';
import { sqlState } from '../database/sqlstate.js';

const failedTransaction = '25P02';

export async function setSavepoint(tx: Transaction): Promise<void> {
  await rows(tx, sql`savepoint drizzle_queue_run`);
}

/**
 * Ends the savepoint. What was written since it stands (true), unless a statement has failed: then nothing more could be
 * sent in the transaction, and all since the savepoint is undone (false).
 */
export async function endSavepoint(tx: Transaction): Promise<boolean> {
  try {
    await rows(tx, sql`release savepoint drizzle_queue_run`);
    return true;
  } catch (error) {
    if (sqlState(error) !== failedTransaction) throw error;
    await rows(tx, sql`rollback to savepoint drizzle_queue_run`);
    await rows(tx, sql`release savepoint drizzle_queue_run`);
    return false;
  }
}
