/** Uses of a person's moves that must not compile, each with its error. */
import { db, queue, strictQueue, tx } from '../app.js';

// @ts-expect-error TS2345: Argument of type 'string' is not assignable to parameter of type 'number | readonly number[]'.
await queue.cancel(tx, '1');
// @ts-expect-error TS2345: Argument of type 'bigint' is not assignable to parameter of type 'number | readonly number[]'.
await queue.remove(tx, 1n);
// @ts-expect-error TS2345: Argument of type '{}' is not assignable to parameter of type 'RescheduleTime'.
await queue.reschedule(tx, 1, {});
// @ts-expect-error TS2345: is not assignable to type 'undefined'.
await queue.reschedule(tx, 1, { delayMs: 1, runAt: new Date() });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'.
await queue.update(tx, 'sendReceipt', 1, { orderId: '1' });
// @ts-expect-error TS2345: Argument of type '"sendReciept"' is not assignable … "sendReceipt"
await queue.update(tx, 'sendReciept', 1, { orderId: 1 });
// @ts-expect-error TS2554: Expected 4 arguments, but got 3.
await queue.update(tx, 'sendReceipt', 1);
// @ts-expect-error TS2345: is not assignable to parameter of type
await queue.update(tx, 'ping', 1, { orderId: 1 });
declare const either: 'sendReceipt' | 'reindex';
// @ts-expect-error TS2345: { courseId: number
await queue.update(tx, either, 1, { orderId: 1 });
// @ts-expect-error TS2769: 'kinds' does not exist in type 'ReplayFilter
await queue.replay(tx, { kinds: ['ping'] });
// @ts-expect-error TS2769: Type '"running"' is not assignable
await queue.replay(tx, { state: 'running' });
// @ts-expect-error TS2769: Type '"pong"' is not assignable
await queue.replay(tx, { kind: 'pong' });
// @ts-expect-error TS2769: No overload matches this call.
await queue.replay(tx, 1, { dryRun: true });
// @ts-expect-error TS2345 or TS2741: 'PostgresJsDatabase< … type 'Transaction'.
await strictQueue.runNow(db, 1);
