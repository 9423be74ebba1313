/** Mistakes with a row's kind and payload that the compiler must find. */
import { type orders, queue } from '../app.js';

const { jobs } = queue.tables;
declare const row: typeof jobs.$inferSelect;
declare const order: typeof orders.$inferSelect;
declare const joined: { kind: (typeof row)['kind'] | null; payload: (typeof row)['payload'] | null };

// @ts-expect-error TS2339: Property 'orderId' does not exist on type
console.log(row.payload.orderId);
// @ts-expect-error TS2345: Argument of type '"nope"' is not assignable to parameter of type … "sendReceipt"
queue.isKind(row, 'nope');
// @ts-expect-error TS2739 or TS2345: missing the following properties from type 'AnyRow': kind, payload
queue.isKind(order, 'ping');
// @ts-expect-error TS2741 or TS2345: Property 'payload' is missing in type … but required in type 'AnyRow'.
queue.isKind({ kind: 'ping' as const }, 'ping');
if (queue.isKind(row, 'sendReceipt')) {
  // @ts-expect-error TS2339: Property 'courseId' does not exist on type
  console.log(row.payload.courseId);
  // @ts-expect-error TS2367: '"sendReceipt"' and '"ping"' have no overlap.
  if (row.kind === 'ping') console.log(row);
}
// @ts-expect-error TS18047: 'joined.payload' is possibly 'null'.
console.log(joined.payload.valueOf());
