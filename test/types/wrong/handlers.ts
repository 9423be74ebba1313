/** Workers and handlers that must not compile, each with its error. */
import type { Handlers } from '../../../src/index.js';
import { createWorker } from '../../../src/worker.js';
import { db, registry, tx } from '../app.js';

type Registry = typeof registry;
const sendReceipt = () => {};
const sendReminder = () => {};
const ping = () => {};
const all = { sendReceipt, sendReminder, ping, reindex: () => {}, countOrders: () => ({ count: 1 }) };

createWorker({
  db,
  registry,
  queues: { mail: 1 },
  // @ts-expect-error TS2741: Property 'sendReminder' is missing in type … but required in type 'Handlers<
  handlers: { sendReceipt },
});
createWorker({
  db,
  registry,
  queues: { mail: 1 },
  // @ts-expect-error TS2353: 'ping' does not exist in type 'Handlers<
  handlers: { sendReceipt, sendReminder, ping },
});
createWorker({
  db,
  registry,
  // @ts-expect-error TS2353: 'mial' does not exist in type '{ readonly default: number; readonly mail: number;
  queues: { mial: 1, reports: 1 },
  handlers: all,
});
createWorker({
  db,
  registry,
  // @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'.
  queues: { mail: 'many' },
  handlers: { sendReceipt, sendReminder },
});
createWorker({
  db,
  registry,
  queues: { mail: 1 },
  kinds: ['sendReceipt'],
  // @ts-expect-error TS2353: 'sendReminder' does not exist in type 'Handlers<
  handlers: { sendReceipt, sendReminder },
});
createWorker({
  db,
  registry,
  queues: { mail: 1 },
  // @ts-expect-error TS2322: Type '"ping"' is not assignable to type
  kinds: ['sendReceipt', 'ping'],
  handlers: { sendReceipt, sendReminder },
});
createWorker({
  db,
  registry,
  queues: { mail: 1 },
  handlers: { sendReceipt, sendReminder },
  // @ts-expect-error TS2353: 'concurrency' does not exist in type
  concurrency: 5,
});

// What a handler is given and gives back.
createWorker({
  db,
  registry,
  queues: { mail: 1 },
  handlers: {
    sendReminder,
    // @ts-expect-error TS2339: Property 'userId' does not exist on type 'Receipt'.
    sendReceipt: ({ userId }) => userId,
  },
});
createWorker({
  db,
  registry,
  queues: { mail: 1 },
  handlers: {
    sendReminder,
    // @ts-expect-error TS2322: is not assignable to type 'Handler<Receipt … 'courseId'
    sendReceipt: (payload: { courseId: number }) => console.log(payload),
  },
});
createWorker({
  db,
  registry,
  queues: { mail: 1 },
  handlers: {
    sendReceipt: (_payload, job) => {
      // @ts-expect-error TS2367: '"sendReceipt"' and '"ping"' have no overlap.
      if (job.kind === 'ping') console.log(job);
    },
    sendReminder,
  },
});

export const results: Handlers<Registry, 'sendReceipt' | 'countOrders' | 'reindex' | 'ping'> = {
  // @ts-expect-error TS2322: Type 'Promise<number>' is not assignable to type
  sendReceipt: async () => 5,
  // @ts-expect-error TS2322: 'count' … Type 'string' is not assignable to type 'number'.
  countOrders: async () => ({ count: '5' }),
  // @ts-expect-error TS2322: Type 'number' is not assignable to type
  reindex: () => 5,
  // @ts-expect-error TS2322: Type 'boolean' is not assignable to type
  ping: () => true,
};

export const forgotten: Handlers<Registry, 'countOrders'> = {
  // @ts-expect-error TS2322: Type 'Promise<void>' is not assignable to type
  countOrders: async (_payload, job) => {
    job.discard('the return was forgotten');
  },
};

// Outcomes.
export const outcomes: Handlers<Registry, 'sendReceipt' | 'countOrders'> = {
  sendReceipt: async (_payload, job) => {
    // @ts-expect-error TS2345: 'number' is not assignable to parameter of type
    job.snooze(1_000);
    // @ts-expect-error TS2353: 'delay' does not exist in type '{ readonly delayMs: number; } | { readonly runAt:
    job.snooze({ delay: 1_000 });
    // @ts-expect-error TS2554: Expected 1 arguments, but got 0.
    job.discard();
    // @ts-expect-error TS2741 or TS2345: 'PostgresJsDatabase< … type 'Transaction'.
    await job.complete(db);
  },
  countOrders: async (_payload, job) => {
    // @ts-expect-error TS2554: Expected 2 arguments, but got 1.
    await job.complete(tx);
    // @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'.
    return job.complete(tx, { count: '2' });
  },
};
