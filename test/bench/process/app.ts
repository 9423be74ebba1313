/** The app that enqueues: transactions over Drizzle and postgres.js, whatever the queue is. */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import type { AppTransaction, Contender } from '../contenders/contender.js';
import { monotonicMs } from './monotonic.js';

type Transact = (run: (tx: AppTransaction) => Promise<void>) => Promise<void>;

/** Of the time of `commits`, before its count begins. */
const warmUp = 0.2;

/** A transaction, by the clock of {@link monotonicMs}. */
export interface Committed {
  /** The last number that it enqueued. */
  readonly n: number;
  /** Before the commit was sent. */
  readonly readyAtMs: number;
  /** When the app heard of the commit. */
  readonly atMs: number;
}

/** Enqueues one job after the other, from this number on. The gaps are those of a plan: what is late does not shift it. */
export async function enqueueSpaced(
  contender: Contender,
  url: string,
  first: number,
  gapsMs: readonly number[],
): Promise<Committed[]> {
  const committed: Committed[] = [];
  const enqueueAll = async (enqueue: (n: number) => Promise<number>) => {
    let dueAt = performance.now();
    for (const [i, gapMs] of gapsMs.entries()) {
      dueAt += gapMs;
      const waitMs = dueAt - performance.now();
      if (waitMs > 0) await delay(waitMs);
      const readyAtMs = await enqueue(first + i);
      committed.push({ n: first + i, readyAtMs, atMs: monotonicMs() });
    }
  };
  if (contender.enqueue) {
    await enqueueAll(async (n) => {
      const readyAtMs = monotonicMs();
      await contender.enqueue?.(n);
      return readyAtMs;
    });
  } else {
    await withApp(url, 1, (transaction) =>
      enqueueAll((n) => committing(transaction, (tx) => enqueueIn(contender, tx, n))),
    );
  }
  return committed;
}

/** Enqueues jobs with the numbers from `first` to before `end`, in one transaction. */
export async function enqueueAtOnce(
  contender: Contender,
  url: string,
  first: number,
  end: number,
): Promise<Committed> {
  if (!contender.enqueueManyIn) throw new Error('It cannot enqueue a list in a transaction.');
  const numbers = Array.from({ length: end - first }, (_, i) => first + i);
  let readyAtMs = 0;
  let atMs = 0;
  await withApp(url, 1, async (transaction) => {
    readyAtMs = await committing(transaction, async (tx) => contender.enqueueManyIn?.(tx, numbers));
    atMs = monotonicMs();
  });
  return { n: end - 1, readyAtMs, atMs };
}

/** When the transaction was about to commit; it has, then. */
async function committing(
  transaction: Transact,
  work: (tx: AppTransaction) => Promise<void>,
): Promise<number> {
  let readyAtMs = 0;
  await transaction(async (tx) => {
    await work(tx);
    readyAtMs = monotonicMs();
  });
  return readyAtMs;
}

export async function timeCalls(contender: Contender, url: string, count: number): Promise<number[]> {
  const times: number[] = [];
  await withApp(url, 1, async (transaction) => {
    for (let n = 0; n < count; n++) {
      await transaction(async (tx) => {
        await tx.execute(sql`select 1`); // a transaction that has begun: postgres.js sends BEGIN with its first statement
        const began = performance.now();
        await enqueueIn(contender, tx, n);
        times.push((performance.now() - began) * 1_000);
      });
    }
  });
  return times;
}

export async function commits(
  contender: Contender,
  url: string,
  connections: number,
  ms: number,
): Promise<number> {
  let counted = 0;
  await withApp(url, connections, async (transaction) => {
    await transaction((tx) => enqueueIn(contender, tx, 0)); // pg-boss starts with it
    const countFrom = performance.now() + ms * warmUp;
    const end = performance.now() + ms;
    const loop = async (first: number) => {
      for (let n = first; performance.now() < end; n += connections) {
        await transaction(async (tx) => {
          await tx.execute(sql`insert into bench_orders (note) values (${`order ${n}`})`);
          await enqueueIn(contender, tx, n);
        });
        const now = performance.now();
        if (now >= countFrom && now < end) counted++;
      }
    };
    await Promise.all(Array.from({ length: connections }, (_, i) => loop(i)));
  });
  return counted / ((ms * (1 - warmUp)) / 1_000);
}

async function withApp(
  url: string,
  connections: number,
  work: (transaction: Transact) => Promise<void>,
): Promise<void> {
  const client = postgres(url, { max: connections, onnotice: () => {} });
  const db = drizzle({ client });
  try {
    await client`create table if not exists bench_orders (id bigint generated always as identity primary key, note text)`;
    await Promise.all(Array.from({ length: connections }, () => client`select 1`));
    await work((run) => db.transaction(run));
  } finally {
    await client.end({ timeout: 5 });
  }
}

function enqueueIn(contender: Contender, tx: AppTransaction, n: number): Promise<void> {
  if (!contender.enqueueIn) throw new Error('It cannot enqueue in a transaction.');
  return contender.enqueueIn(tx, n);
}
