/** Ways to read jobs that must not compile, each with its error. */
import { job } from '../../../src/index.js';
import { db, queue, tx } from '../app.js';

// @ts-expect-error TS2345: '"sendReceipt"' is not assignable to parameter of type '"a job of this kind is deleted when it completes: define it with .onComplete('keep') to wait for its result"'.
await queue.wait(db, 'sendReceipt', 1);
// @ts-expect-error TS2345: Argument of type '"cuontOrders"' is not assignable
await queue.wait(db, 'cuontOrders', 1);
// @ts-expect-error TS2345: type 'Database'.
await queue.wait(tx, 'countOrders', 1);
// @ts-expect-error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.
await queue.wait(db, 'countOrders', '1');
// @ts-expect-error TS2353 or TS2561: 'timeout' does not exist in type 'WaitOptions'.
await queue.wait(db, 'countOrders', 1, { timeout: 1_000 });
declare const either: 'countOrders' | 'ping';
// @ts-expect-error TS2345: a job of this kind is deleted when it completes
await queue.wait(db, either, 1);
// @ts-expect-error TS2339: Property 'total' does not exist on type '{ count: number; }'.
console.log((await queue.wait(db, 'countOrders', 1)).total);

// @ts-expect-error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.
await queue.get(db, '1');
const found = await queue.get(db, 1);
// @ts-expect-error TS18048: 'found' is possibly 'undefined'.
console.log(found.id);
// @ts-expect-error TS2339: Property 'orderId' does not exist on type
console.log(found?.payload.orderId);
if (found?.kind === 'sendReceipt') {
  // @ts-expect-error TS2339: Property 'day' does not exist on type 'Receipt'.
  console.log(found.payload.day);
}

// @ts-expect-error TS2322: Type '"done"' is not assignable to type
await queue.list(db, { state: 'done' });
// @ts-expect-error TS2820 or TS2322: Type '"pong"' is not assignable to type
await queue.list(db, { kind: 'pong' });
// @ts-expect-error TS2322: Type '"id"' is not assignable to type '"newest" | "oldest"
await queue.list(db, { order: 'id' });
// @ts-expect-error TS2353: 'state' does not exist in type 'DeadLetterFilter<
await queue.deadLetters(db, { state: 'discarded' });
// @ts-expect-error TS2353: 'limit' does not exist in type 'CountFilter<
await queue.counts(db, { limit: 5 });

// @ts-expect-error TS2345: Argument of type '"history"' is not assignable to parameter of type 'OnComplete'.
job().onComplete('history');
// @ts-expect-error TS2353: 'onComplete' does not exist in type 'JobOptions<
job<{ n: number }>({ onComplete: 'keep' });
