/** One transaction that stays open while other moves are made: a handler's around `complete(tx)`, or an app's own. */
import { sql } from 'drizzle-orm';
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type { Transaction } from '../../src/database/executor.js';
import { completeIn } from '../../src/sql/complete.js';
import { keepIn } from '../../src/sql/keep.js';
import type { ClaimedId, Kept } from '../../src/words/outcome.js';
import { table } from '../support/jobs.js';

export type End = 'commit' | 'rollback';

export interface OpenTransaction {
  /** Ends the job in a new transaction, and gives whether that could be. */
  complete(claim: ClaimedId, kept: Kept | undefined): Promise<boolean>;
  /** Locks the row in a new transaction. */
  lock(id: number): Promise<unknown>;
  /** Ends the transaction, if one is open. */
  end(how: End): Promise<void>;
}

export function createOpenTransaction(db: PostgresJsDatabase): OpenTransaction {
  let endIt: ((how: End) => Promise<void>) | undefined;

  async function begin(): Promise<Transaction> {
    const rolledBack = new Error('rolled back');
    let decide = (_how: End): void => {};
    const decided = new Promise<End>((resolve) => {
      decide = resolve;
    });
    return new Promise((resolve, reject) => {
      const over = db.transaction(async (tx) => {
        resolve(tx);
        if ((await decided) === 'rollback') throw rolledBack;
      });
      endIt = async (how) => {
        endIt = undefined;
        decide(how);
        await over.catch((error: unknown) => {
          if (error !== rolledBack) throw error;
        });
      };
      over.catch(reject);
    });
  }

  return {
    async complete(claim, kept) {
      const tx = await begin();
      return kept ? keepIn(tx, table, claim, kept) : completeIn(tx, table, claim);
    },
    lock: async (id) => (await begin()).execute(sql`select 1 from jobs where id = ${id}::bigint for update`),
    end: async (how) => endIt?.(how),
  };
}
