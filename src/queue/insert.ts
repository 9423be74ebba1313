/** Checked jobs become rows, and the workers hear of them. */
import { type Executor, isTransaction, type Transaction } from '../database/executor.js';
import { channelOf, tableName } from '../database/table-name.js';
import type { JobsTable } from '../database/tables.js';
import { enqueue } from '../sql/enqueue.js';
import { enqueueMany } from '../sql/enqueue-many.js';
import type { Notifications } from '../sql/notify.js';
import { batches } from './batches.js';
import type { CheckedJob } from './enqueue-options.js';
import { createWakeUps } from './wake-ups.js';

export interface Inserts {
  /** Gives the id. */
  one(tx: Executor, job: CheckedJob): Promise<number>;
  /** All or nothing; gives the ids in the order of the list. */
  many(tx: Executor, jobs: readonly CheckedJob[]): Promise<number[]>;
}

export function createInserts(jobs: JobsTable): Inserts {
  const table = tableName(jobs);
  const channel = channelOf(jobs);
  const wakeUps = createWakeUps();

  /** What goes out with the insert of the jobs. */
  function told(tx: Executor, list: readonly CheckedJob[]): Notifications | undefined {
    const texts = wakeUps.notices(tx, list);
    return texts.length > 0 ? { channel, texts } : undefined;
  }

  /** Several statements are one transaction: the caller's, or one of our own. */
  async function insertParts(
    tx: Executor,
    list: readonly CheckedJob[],
    parts: readonly (readonly CheckedJob[])[],
  ): Promise<number[]> {
    if (parts.length > 1 && !isTransaction(tx)) {
      return tx.transaction((inner: Transaction) => insertParts(inner, list, parts));
    }
    const ids: number[] = [];
    for (const part of parts) {
      // One wake-up of a queue for the whole list.
      const notifications = part === parts.at(-1) ? told(tx, list) : undefined;
      ids.push(...(await enqueueMany(tx, table, part, notifications)));
    }
    return ids;
  }

  /** Remembers how it went, for the wake-ups that follow. */
  async function remembered(list: readonly CheckedJob[], insert: () => Promise<number[]>): Promise<number[]> {
    try {
      const ids = await insert();
      wakeUps.inserted(ids);
      return ids;
    } catch (error) {
      wakeUps.failed(list);
      throw error;
    }
  }

  return {
    async one(tx, job) {
      const [id = 0] = await remembered([job], async () => [await enqueue(tx, table, job, told(tx, [job]))]);
      return id;
    },
    many: (tx, list) => remembered(list, () => insertParts(tx, list, [...batches(list)])),
  };
}
