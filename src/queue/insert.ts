/** Checked jobs become rows, and the workers hear of them. */
import { type Executor, isTransaction, type Transaction } from '../database/executor.js';
import { channelOf, tableName } from '../database/table-name.js';
import type { JobsTable } from '../database/tables.js';
import { enqueue, type KeyedAnswer } from '../sql/enqueue.js';
import { enqueueMany } from '../sql/enqueue-many.js';
import { type Notifications, notify } from '../sql/notify.js';
import { batches } from './batches.js';
import type { CheckedJob } from './enqueue-options.js';
import type { Enqueued } from './enqueued.js';
import { insertKeyed, insertManyKeyed, keyedOf } from './keyed.js';
import { createWakeUps } from './wake-ups.js';

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

  async function insertOne(tx: Executor, job: CheckedJob): Promise<KeyedAnswer> {
    const keyed = keyedOf(job);
    const tail = wakeUps.tailOfJob(tx, job);
    const notifications = tail === undefined ? told(tx, [job]) : { channel, tail };
    if (!keyed) return plainAnswer(await enqueue(tx, table, job, notifications));
    const answer = await insertKeyed(tx, table, keyed, notifications);
    if (notifications && !answer.news) wakeUps.untold(tx, [job]);
    return answer;
  }

  /** Several statements are one transaction: the caller's, or one of our own. Those with a key may take several. */
  async function insertMany(tx: Executor, list: readonly CheckedJob[]): Promise<KeyedAnswer[]> {
    const keyed = list.map(keyedOf);
    const plain = list.filter((_, n) => !keyed[n]);
    const [only] = list;
    if (only && list.length === 1 && keyed[0]) return [await insertOne(tx, only)];
    const parts = [...batches(plain)];
    if ((parts.length > 1 || plain.length < list.length) && !isTransaction(tx)) {
      return tx.transaction((inner: Transaction) => insertMany(inner, list));
    }
    const withKey = keyed.filter((job) => job !== undefined);
    const keyedAnswers = await insertManyKeyed(tx, table, withKey);
    // One wake-up of a queue for the whole list.
    const news = [...withKey.filter((_, n) => keyedAnswers[n]?.news), ...plain];
    const ids: number[] = [];
    for (const part of parts) {
      const notifications = part === parts.at(-1) ? told(tx, news) : undefined;
      ids.push(...(await enqueueMany(tx, table, part, notifications)));
    }
    const notifications = parts.length === 0 ? told(tx, news) : undefined;
    if (notifications) await notify(tx, notifications);
    const [nextKeyed, nextPlain] = [keyedAnswers.values(), ids.values()];
    return keyed.map((job) =>
      job ? (nextKeyed.next().value ?? plainAnswer(0)) : plainAnswer(nextPlain.next().value ?? 0),
    );
  }

  /** Remembers how it went, for the wake-ups that follow. */
  async function remembered(
    list: readonly CheckedJob[],
    insert: () => Promise<readonly KeyedAnswer[]>,
  ): Promise<Enqueued[]> {
    try {
      const answers = await insert();
      const ids = answers.filter(({ duplicate }) => !duplicate).map(({ id }) => id);
      wakeUps.inserted(
        ids,
        answers.reduce((sum, { lostIds }) => sum + lostIds, 0),
      );
      return answers.map(({ id, duplicate }) => ({ id, duplicate }));
    } catch (error) {
      wakeUps.failed(list);
      throw error;
    }
  }

  return {
    async one(tx, job) {
      const [enqueued] = await remembered([job], async () => [await insertOne(tx, job)]);
      return enqueued ?? { id: 0, duplicate: false };
    },
    many: (tx, list) => remembered(list, () => insertMany(tx, list)),
  };
}

/** Of a job without a key. */
function plainAnswer(id: number): KeyedAnswer {
  return { id, duplicate: false, news: true, lostIds: 0 };
}
