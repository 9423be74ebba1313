/** Uses of createTransactions that compile, and what they infer. */
import { expectTypeOf } from 'vitest';
import { createTransactions, type Enqueued, type TransactionOf } from '../../../src/index.js';
import { type AppTransaction, db, orders, queue, strictQueue, tx } from '../app.js';

const app = createTransactions(db, strictQueue);
const { transaction, within, outside, current, enqueue, enqueueMany } = app;
expectTypeOf<TransactionOf<typeof db>>().toEqualTypeOf<AppTransaction>();

export async function typed(): Promise<void> {
  const id = await transaction(async (inner) => {
    expectTypeOf(inner).toEqualTypeOf<AppTransaction>();
    const [order] = await inner.insert(orders).values({ id: 1, title: 'a' }).returning();
    expectTypeOf(await enqueue('sendReceipt', { orderId: 1 })).toEqualTypeOf<Enqueued>();
    await enqueue('ping');
    await enqueue('ping', undefined, { delayMs: 5 });
    expectTypeOf(
      await enqueueMany([
        { kind: 'ping', priority: 1 },
        { kind: 'sendReminder', payload: { userId: 1, at: 'evening' } },
      ]),
    ).toEqualTypeOf<Enqueued[]>();
    return order?.id;
  });
  expectTypeOf(id).toEqualTypeOf<number | undefined>();
  await transaction(async () => {}, { isolationLevel: 'serializable' });
  expectTypeOf(current()).toEqualTypeOf<AppTransaction>();
  await current().select().from(orders);
  expectTypeOf(await within(tx, async () => 1)).toEqualTypeOf<number>();
  expectTypeOf(outside(() => 'a' as const)).toEqualTypeOf<'a'>();
}

// A queue that takes databases as well; where none is required, `current()` may be the database.
export const plain = createTransactions(db, queue);
export const loose = createTransactions(db, queue, { requireTransaction: false });
expectTypeOf(loose.current()).toEqualTypeOf<AppTransaction | typeof db>();
