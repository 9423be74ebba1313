/** A savepoint in a transaction that somebody else has begun, by a name that Drizzle does not give. */
import { type SQL, sql } from 'drizzle-orm';
import type { Transaction } from '../database/executor.js';
import { rows } from '../database/rows.js';
import { sqlState } from '../database/sqlstate.js';
import { QueueError } from '../words/errors.js';

const failedTransaction = '25P02';
const noTransaction = '25P01';

/** @throws QueueError `TRANSACTION_ENDED` */
export async function setSavepoint(tx: Transaction): Promise<void> {
  await send(tx, sql`savepoint drizzle_queue_run`);
}

/**
 * Ends the savepoint. What was written since it stands (true), unless a statement has failed: then nothing more could be
 * sent in the transaction, and all since the savepoint is undone (false).
 *
 * @throws QueueError `TRANSACTION_ENDED`
 */
export async function endSavepoint(tx: Transaction): Promise<boolean> {
  try {
    await send(tx, sql`release savepoint drizzle_queue_run`);
    return true;
  } catch (error) {
    if (sqlState(error) !== failedTransaction) throw error;
    await send(tx, sql`rollback to savepoint drizzle_queue_run`);
    await send(tx, sql`release savepoint drizzle_queue_run`);
    return false;
  }
}

async function send(tx: Transaction, command: SQL): Promise<void> {
  try {
    await rows(tx, command);
  } catch (cause) {
    if (sqlState(cause) !== noTransaction) throw cause;
    throw new QueueError(
      'TRANSACTION_ENDED',
      'The transaction has ended: what is sent now is in none. Await what works in it inside of its callback; and nothing in it ' +
        'may commit it or roll it back with a statement.',
      { cause },
    );
  }
}
