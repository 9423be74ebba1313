/** The app that enqueues: transactions over Drizzle and postgres.js, whatever the queue is. */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import type { AppTransaction, Contender } from '../contenders/contender.js';
import { monotonicMs } from './monotonic.js';

/** Of the time of `commits`, before its count begins. */
const warmUp = 0.2;

export async function enqueueSpaced(
  contender: Contender,
  url: string,
  jobs: number,
  [shortestMs, longestMs]: readonly [number, number],
): Promise<[n: number, committedAtMs: number][]> {
  const committed: [number, number][] = [];
  const enqueueAll = async (enqueue: (n: number) => Promise<void>) => {
    for (let n = 0; n < jobs; n++) {
      await delay(shortestMs + Math.random() * (longestMs - shortestMs));
      await enqueue(n);
      committed.push([n, monotonicMs()]);
    }
  };
  if (contender.enqueue) await enqueueAll((n) => contender.enqueue?.(n) ?? Promise.resolve());
  else {
    await withApp(url, 1, (transaction) =>
      enqueueAll((n) => transaction((tx) => enqueueIn(contender, tx, n))),
    );
  }
  return committed;
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
  work: (transaction: (run: (tx: AppTransaction) => Promise<void>) => Promise<void>) => Promise<void>,
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
