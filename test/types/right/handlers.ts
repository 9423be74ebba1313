/** Workers whose handlers compile, and what the handlers are given. */
import { expectTypeOf } from 'vitest';
import type { Ended, Handler, Handlers, JobContext, Settled, Transaction } from '../../../src/index.js';
import { createWorker, Discard, type Worker } from '../../../src/worker.js';
import { db, type Receipt, registry, tx } from '../app.js';

type Registry = typeof registry;

expectTypeOf(
  createWorker({
    db,
    registry,
    queues: { mail: 5, default: 10, reports: 1 },
    handlers: {
      sendReceipt: async (payload, job) => {
        expectTypeOf(payload).toEqualTypeOf<Receipt>();
        expectTypeOf(job).toEqualTypeOf<JobContext<'sendReceipt', void>>();
        expectTypeOf(job.kind).toEqualTypeOf<'sendReceipt'>();
        expectTypeOf(job.signal).toEqualTypeOf<AbortSignal>();
        expectTypeOf(job.id).toEqualTypeOf<number>();
        expectTypeOf(job.complete).parameter(0).toEqualTypeOf<Transaction>();
      },
      sendReminder: ({ userId, at }) => {
        expectTypeOf(userId).toEqualTypeOf<number>();
        expectTypeOf(at).toEqualTypeOf<'morning' | 'evening'>();
      },
      reindex: async () => {
        throw new Discard('there is no such course');
      },
      countOrders: async ({ day }) => ({ count: day.length }),
      ping: () => {},
    },
  }),
).toEqualTypeOf<Worker>();

// Fewer kinds: by the queues served, or by `kinds`.
export const byQueue = createWorker({
  db,
  registry,
  queues: { mail: 1 },
  handlers: { sendReceipt: () => {}, sendReminder: () => {} },
  log: undefined,
  pollIntervalMs: undefined,
  directDb: db,
});
export const byKinds = createWorker({
  db,
  registry,
  queues: { mail: 1, default: 1 },
  kinds: ['sendReceipt', 'ping'],
  handlers: {
    sendReceipt: (payload) => {
      expectTypeOf(payload).toEqualTypeOf<Receipt>();
    },
    ping: (payload) => {
      expectTypeOf(payload).toEqualTypeOf<void>();
    },
  },
});

// Handlers in files of their own, with the types of the context inside.
const mailHandlers = {
  sendReceipt: async ({ orderId }) => {
    expectTypeOf(orderId).toEqualTypeOf<number>();
  },
  sendReminder: async (payload, job) => {
    expectTypeOf(payload.userId).toEqualTypeOf<number>();
    expectTypeOf(job.kind).toEqualTypeOf<'sendReminder'>();
  },
} satisfies Partial<Handlers<Registry>>;
const ping: Handler<void, void> = () => {};
const otherHandlers: Handlers<Registry, 'reindex' | 'ping'> = { reindex: () => {}, ping };
export const spread = createWorker({
  db,
  registry,
  queues: { mail: 1, default: 1 },
  handlers: { ...mailHandlers, ...otherHandlers },
});

// Outcomes. A kind without a result may fall off the end after them, also under noImplicitReturns.
expectTypeOf<Ended<void>>().toEqualTypeOf<void>();
expectTypeOf<Ended<{ count: number }>>().toEqualTypeOf<Settled>();
export const outcomes: Handlers<Registry, 'sendReceipt' | 'sendReminder' | 'countOrders'> = {
  sendReceipt: async ({ note }, job) => {
    if (note === 'later') return job.snooze({ delayMs: 1_000 });
    if (note === 'at eight') return job.snooze({ runAt: '2027-01-01T08:00:00Z' });
    if (note === 'then') return job.snooze({ runAt: new Date() });
    if (note === 'never') return job.discard('it was withdrawn');
    console.log(note);
  },
  sendReminder: async (_payload, job) => {
    await db.transaction(async (inner) => job.complete(inner));
  },
  countOrders: async ({ day }, job) => {
    if (day === '') return job.discard('no day');
    if (day === 'today') return job.snooze({ delayMs: 60_000 });
    if (day === 'all') return db.transaction((inner) => job.complete(inner, { count: 2 }));
    if (day === 'tx') return job.complete(tx, { count: 1 });
    return { count: 0 };
  },
};
