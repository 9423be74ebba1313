/** Wrong uses of the testing entry and of runOnce, each with its error. */
import { assertEnqueued, drain, enqueued, perform } from '../../../src/testing.js';
import type { Worker } from '../../../src/worker.js';
import { db, queue, registry, tx } from '../app.js';

// @ts-expect-error TS2345 or TS2741: type 'Transaction'.
drain(db, { registry, handlers: {} });
// @ts-expect-error TS2353 or TS2561: 'sendReciept' does not exist in type
drain(tx, { registry, handlers: { sendReciept: () => {} } });
// @ts-expect-error TS2339: Property 'courseId' does not exist on type 'Receipt'.
drain(tx, { registry, handlers: { sendReceipt: ({ courseId }) => courseId } });
// @ts-expect-error TS2322: 'string' is not assignable to type
drain(tx, { registry, handlers: { countOrders: () => 'none' } });

// @ts-expect-error TS2345: Argument of type '"sendReciept"' is not assignable to parameter of type
enqueued(tx, queue, 'sendReciept');
// @ts-expect-error TS2353: 'orderid' does not exist in type
enqueued(tx, queue, 'sendReceipt', { orderid: 1 });
// @ts-expect-error TS2322: Type '"noon"' is not assignable to type
assertEnqueued(tx, queue, 'sendReminder', { at: 'noon' });
// @ts-expect-error TS2339: Property 'courseId' does not exist on type 'Receipt'.
assertEnqueued(tx, queue, 'sendReceipt', ({ courseId }) => courseId > 0);

// @ts-expect-error TS2345: Argument of type '"sendReciept"' is not assignable to parameter of type
perform(registry, 'sendReciept', () => {});
// @ts-expect-error TS2554: Expected
perform(registry, 'reindex', () => {});
// @ts-expect-error TS2353: 'orderId' does not exist in type
perform(registry, 'reindex', () => {}, { orderId: 1 });
// @ts-expect-error TS2322: is not assignable to type
perform(registry, 'countOrders', () => 'none', { day: 'today' });

export async function once(worker: Worker): Promise<void> {
  // @ts-expect-error TS2353: 'timeoutMs' does not exist in type 'RunOnceOptions'.
  await worker.runOnce({ timeoutMs: 5_000 });
}
