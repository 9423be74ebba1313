/** Uses of enqueue and enqueueMany that must not compile, each with its error. */
import { db, queue, strictQueue, tx } from '../app.js';
import { later } from '../right/enqueue.js';

// The kind.
// @ts-expect-error TS2345: Argument of type '"sendReciept"' is not assignable … "sendReceipt"
await queue.enqueue(tx, 'sendReciept', { orderId: 1 });
// @ts-expect-error TS2345: Argument of type 'string' is not assignable … "sendReceipt"
await queue.enqueue(tx, 'ping' as string, undefined);
declare const either: 'sendReceipt' | 'reindex';
// @ts-expect-error TS2345: { courseId: number
await queue.enqueue(tx, either, { orderId: 1 });
// The number of arguments is checked first, so this one misleads.
// @ts-expect-error TS2554: Expected 2-3 arguments, but got 1.
await later('pong');

// The payload.
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'.
await queue.enqueue(tx, 'sendReceipt', { orderId: '1' });
// @ts-expect-error TS2561: 'orderid' does not exist in type 'Receipt'. Did you mean to write 'orderId'?
await queue.enqueue(tx, 'sendReceipt', { orderid: 1 });
// @ts-expect-error TS2353: 'urgent' does not exist in type 'Receipt'.
await queue.enqueue(tx, 'sendReceipt', { orderId: 1, urgent: true });
// @ts-expect-error TS2741 or TS2345: Property 'orderId' is missing in type '{}' but required in type 'Receipt'.
await queue.enqueue(tx, 'sendReceipt', {});
// @ts-expect-error TS2554: Expected 3-4 arguments, but got 2.
await queue.enqueue(tx, 'sendReceipt');
// @ts-expect-error TS2554: Expected 2-3 arguments, but got 1.
await later('sendReceipt');
// @ts-expect-error TS2322: Type '"noon"' is not assignable to type … "morning"
await queue.enqueue(tx, 'sendReminder', { userId: 1, at: 'noon' });
// @ts-expect-error TS2345: Argument of type '{ orderId: number; }' is not assignable to parameter of type 'void'.
await queue.enqueue(tx, 'ping', { orderId: 1 });
// @ts-expect-error TS2345: Argument of type '{ delayMs: number; }' is not assignable to parameter of type 'void'.
await queue.enqueue(tx, 'ping', { delayMs: 1 });
// @ts-expect-error TS2379: 'exactOptionalPropertyTypes: true' … Types of property 'note' are incompatible.
await queue.enqueue(tx, 'sendReceipt', { orderId: 1, note: undefined });

// The options.
// @ts-expect-error TS2322: Type '"mial"' is not assignable to type '"default" | "mail" | "reports"
await queue.enqueue(tx, 'ping', undefined, { queue: 'mial' });
// @ts-expect-error TS2322: Type 'number' is not assignable to type
await queue.enqueue(tx, 'ping', undefined, { meta: 5 });
// @ts-expect-error TS2561: 'delayMS' … Did you mean to write 'delayMs'?
await queue.enqueue(tx, 'sendReceipt', { orderId: 1 }, { delayMS: 1 });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'.
await queue.enqueue(tx, 'sendReceipt', { orderId: 1 }, { priority: 'high' });
// @ts-expect-error TS2322: Type 'number' is not assignable to type 'string | Date
await queue.enqueue(tx, 'sendReceipt', { orderId: 1 }, { runAt: Date.now() });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'boolean
await queue.enqueue(tx, 'sendReceipt', { orderId: 1 }, { wake: 'no' });
// @ts-expect-error TS2322: Type 'number' is not assignable to type 'string'.
await queue.enqueue(tx, 'sendReceipt', { orderId: 1 }, { dedupeKey: 1 });
// @ts-expect-error TS2322: Type '"ignore"' is not assignable to type
await queue.enqueue(tx, 'sendReceipt', { orderId: 1 }, { dedupeKey: 'k', onDuplicate: 'ignore' });
// @ts-expect-error TS2561: 'dedupekey' … Did you mean to write 'dedupeKey'?
await queue.enqueue(tx, 'sendReceipt', { orderId: 1 }, { dedupekey: 'k' });

// A list.
await queue.enqueueMany(tx, [
  { kind: 'ping' },
  // @ts-expect-error TS2820: Type '"sendReciept"' is not assignable to type … Did you mean '"sendReceipt"'?
  { kind: 'sendReciept', payload: { orderId: 1 } },
]);
await queue.enqueueMany(tx, [
  // @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'.
  { kind: 'sendReceipt', payload: { orderId: '1' } },
  { kind: 'reindex', payload: { courseId: 1 } },
]);
await queue.enqueueMany(tx, [
  // @ts-expect-error TS2322: Property 'payload' is missing … 'EnqueueItem<"sendReceipt", Receipt,
  { kind: 'sendReceipt' },
]);
await queue.enqueueMany(tx, [
  // @ts-expect-error TS2353: 'x' does not exist in type
  { kind: 'ping', payload: { x: 1 } },
]);
await queue.enqueueMany(tx, [
  // @ts-expect-error TS2561: 'delay' does not exist in type 'EmptyItem<"ping", … Did you mean to write 'delayMs'?
  { kind: 'ping', delay: 1 },
]);

// requireTransaction takes a transaction only.
// @ts-expect-error TS2741 or TS2345: Property 'rollback' is missing in type 'PostgresJsDatabase< … required in type 'Transaction'.
await strictQueue.enqueue(db, 'ping');
// TypeScript 5.4 gives the reason once a program.
// @ts-expect-error TS2741 or TS2345: 'PostgresJsDatabase< … type 'Transaction'.
await strictQueue.enqueueMany(db, [{ kind: 'ping' }]);
