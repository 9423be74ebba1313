/** Checked jobs become rows, and the workers hear of them. */
import { type Executor, isTransaction, type Transaction } from '../database/executor.js';
import { channelOf, tableName } from '../database/table-name.js';
import type { JobsTable } from '../database/tables.js';
import { enqueue } from '../sql/enqueue.js';
import { enqueueMany } from '../sql/enqueue-many.js';
import { type Notifications, notify } from '../sql/notify.js';
import { batches } from './batches.js';
import type { CheckedJob } from './enqueue-options.js';
import { insertKeyed, insertManyKeyed, type Keyed, keyedOf } from './keyed.js';
import { createWakeUps } from './wake-ups.js';

/** What an enqueue answers. */
export interface Enqueued {
  /** Of the job; with a dedupe key that was taken, of the job that has it. */
  readonly id: number;
  /** Whether the dedupe key was taken: no job was inserted. */
  readonly duplicate: boolean;
}

export interface Inserts {
  one(tx: Executor, job: CheckedJob): Promise<Enqueued>;
  /** All or nothing; answers in the order of the list. */
  many(tx: Executor, jobs: readonly CheckedJob[]): Promise<Enqueued[]>;
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

  async function one(tx: Executor, job: CheckedJob): Promise<Enqueued> {
    const keyed = keyedOf(job);
    const notifications = told(tx, [job]);
    if (!keyed) return { id: await enqueue(tx, table, job, notifications), duplicate: false };
    const { id, duplicate, news } = await insertKeyed(tx, table, keyed, notifications);
    if (notifications && !news) wakeUps.untold(tx, [job]);
    return { id, duplicate };
  }

  /** Several statements are one transaction: the caller's, or one of our own. */
  async function insertAll(tx: Executor, list: readonly CheckedJob[]): Promise<Enqueued[]> {
    const keyed = list.map(keyedOf);
    const plain = list.filter((_, n) => !keyed[n]);
    const parts = [...batches(plain)];
    if ((parts.length > 1 || plain.length < list.length) && !isTransaction(tx)) {
      return tx.transaction((inner: Transaction) => insertAll(inner, list));
    }
    const { answers, news } = await insertKeyedOf(tx, keyed);
    const ids: number[] = [];
    for (const part of parts) {
      // One wake-up of a queue for the whole list.
      const notifications = part === parts.at(-1) ? told(tx, [...news, ...plain]) : undefined;
      ids.push(...(await enqueueMany(tx, table, part, notifications)));
    }
    const notifications = parts.length === 0 ? told(tx, news) : undefined;
    if (notifications) await notify(tx, notifications);
    let next = 0;
    return keyed.map((job) => {
      const answer = job && answers.get(job);
      return answer ?? { id: ids[next++] ?? 0, duplicate: false };
    });
  }

  /** Those with a key, and which of them sleeping workers should know of. */
  async function insertKeyedOf(tx: Executor, list: readonly (Keyed | undefined)[]) {
    const keyed = list.filter((job) => job !== undefined);
    const answers = new Map<Keyed, Enqueued>();
    const news: Keyed[] = [];
    for (const [n, answer] of (await insertManyKeyed(tx, table, keyed)).entries()) {
      const job = keyed[n];
      if (!job) continue;
      answers.set(job, { id: answer.id, duplicate: answer.duplicate });
      if (answer.news) news.push(job);
    }
    return { answers, news };
  }

  /** Remembers how it went, for the wake-ups that follow. */
  async function remembered(
    list: readonly CheckedJob[],
    insert: () => Promise<Enqueued[]>,
  ): Promise<Enqueued[]> {
    try {
      const enqueued = await insert();
      const ids = enqueued.filter(({ duplicate }) => !duplicate).map(({ id }) => id);
      wakeUps.inserted(ids, enqueued.length - ids.length);
      return enqueued;
    } catch (error) {
      wakeUps.failed(list);
      throw error;
    }
  }

  return {
    async one(tx, job) {
      const [enqueued] = await remembered([job], async () => [await one(tx, job)]);
      return enqueued ?? { id: 0, duplicate: false };
    },
    async many(tx, list) {
      return remembered(list, () => insertAll(tx, list));
    },
  };
}
