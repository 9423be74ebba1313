/** Uses of the testing entry that compile, and what they infer. */
import { expectTypeOf } from 'vitest';
import type { Handlers } from '../../../src/index.js';
import {
  advance,
  assertEnqueued,
  type DrainedRun,
  drain,
  enqueued,
  type Performed,
  perform,
  rolledBack,
} from '../../../src/testing.js';
import { createWorker, type RunOnceResult } from '../../../src/worker.js';
import { type AppTransaction, db, queue, type Receipt, registry, strictQueue, tx } from '../app.js';

type Kind = keyof (typeof registry)['kinds'];
const handlers: Handlers<typeof registry> = {
  sendReceipt: () => {},
  sendReminder: () => {},
  reindex: () => {},
  countOrders: ({ day }) => ({ count: day.length }),
  ping: () => {},
};

export async function inTests(): Promise<void> {
  const runs = await rolledBack(db, async (inner) => {
    expectTypeOf(inner).toEqualTypeOf<AppTransaction>();
    return drain(inner, { registry, handlers });
  });
  expectTypeOf(runs).toEqualTypeOf<DrainedRun<Kind>[]>();
  for (const run of runs) {
    if (run.outcome === 'failed') expectTypeOf(run.retryInMs).toEqualTypeOf<number>();
    if (run.outcome === 'snoozed') expectTypeOf(run.dueInMs).toEqualTypeOf<number>();
    expectTypeOf(run.kind).toEqualTypeOf<Kind>();
  }
  // Some kinds only.
  await drain(tx, {
    registry,
    handlers: {
      sendReceipt: (payload, job) => {
        expectTypeOf(payload).toEqualTypeOf<Receipt>();
        expectTypeOf(job.kind).toEqualTypeOf<'sendReceipt'>();
      },
    },
    tables: queue.tables,
    throwErrors: true,
    limit: 5,
  });
  expectTypeOf(await advance(tx, queue, 60_000)).toEqualTypeOf<number>();

  const [receipt] = await enqueued(tx, queue, 'sendReceipt', { orderId: 1 });
  expectTypeOf(receipt?.payload).toEqualTypeOf<Receipt | undefined>();
  const reminder = await assertEnqueued(tx, strictQueue, 'sendReminder', ({ at }) => at === 'evening');
  expectTypeOf(reminder.payload.at).toEqualTypeOf<'morning' | 'evening'>();
  expectTypeOf(reminder.kind).toEqualTypeOf<'sendReminder'>();
  expectTypeOf(reminder.runAt).toEqualTypeOf<Date>();
  await assertEnqueued(db, queue, 'ping');
}

export async function withoutADatabase(): Promise<void> {
  const counted = await perform(
    registry,
    'countOrders',
    handlers.countOrders,
    { day: 'today' },
    { attempt: 2 },
  );
  expectTypeOf(counted).toEqualTypeOf<Performed<{ count: number }>>();
  if (counted.outcome === 'completed') expectTypeOf(counted.result.count).toEqualTypeOf<number>();
  await perform(registry, 'ping', handlers.ping);
  await perform(
    registry,
    'sendReceipt',
    ({ orderId }) => expectTypeOf(orderId).toEqualTypeOf<number>() && undefined,
    {
      orderId: 1,
    },
  );
}

export async function once(): Promise<void> {
  const worker = createWorker({
    db,
    registry,
    queues: { reports: 1 },
    handlers: { countOrders: handlers.countOrders },
  });
  expectTypeOf(await worker.runOnce()).toEqualTypeOf<RunOnceResult>();
  const { completed, more } = await worker.runOnce({ budgetMs: 50_000 });
  expectTypeOf(completed).toEqualTypeOf<number>();
  expectTypeOf(more).toEqualTypeOf<boolean>();
}
