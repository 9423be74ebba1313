/** Pauses that must not compile, each with its error. */
import { db, queue, strictQueue, tx } from '../app.js';

// @ts-expect-error TS2322 or TS2820: Type '"mial"' is not assignable to type … "mail"
await queue.pause(tx, { queue: 'mial' });
// @ts-expect-error TS2322 or TS2820: Type '"sendReciept"' is not assignable to type … "sendReceipt"
await queue.resume(tx, { kind: 'sendReciept' });
// @ts-expect-error TS2322: is not assignable to type … undefined
await queue.pause(tx, { queue: 'mail', kind: 'sendReceipt' });
// @ts-expect-error TS2345: Argument of type '{}' is not assignable to parameter of type 'Pausable
await queue.pause(tx, {});
// @ts-expect-error TS2345: Argument of type 'string' is not assignable
await queue.pause(tx, 'mail');
// @ts-expect-error TS2345 or TS2741: 'PostgresJsDatabase< … type 'Transaction'.
await strictQueue.pause(db, { queue: 'mail' });
