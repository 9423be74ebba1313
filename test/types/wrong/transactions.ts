/** Wrong uses of createTransactions, each with its error. */
import { createTransactions } from '../../../src/index.js';
import { db, queue, strictQueue, tx } from '../app.js';

const { transaction, within, enqueue, enqueueMany } = createTransactions(db, queue);

// @ts-expect-error TS2345: Argument of type '"sendReciept"' is not assignable to parameter of type
enqueue('sendReciept', { orderId: 1 });
// @ts-expect-error TS2353 or TS2561: 'orderid' does not exist in type 'Receipt'.
enqueue('sendReceipt', { orderid: 1 });
// @ts-expect-error TS2554: Expected
enqueue('sendReceipt');
// @ts-expect-error TS2345: is not assignable to parameter of type
enqueue(tx, 'sendReceipt', { orderId: 1 });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'.
enqueueMany([{ kind: 'sendReceipt', payload: { orderId: 'a' } }]);
// @ts-expect-error TS2322: Type '"total"' is not assignable to type
transaction(async () => {}, { isolationLevel: 'total' });
// @ts-expect-error TS2345 or TS2741: type 'Transaction'.
within(db, async () => {});
// @ts-expect-error TS2345 or TS2769: type 'Database'.
createTransactions(tx, queue);
// A queue that takes no database.
// @ts-expect-error TS2769: Types of parameters 'tx' and 'tx' are incompatible. … 'Executor' … 'Transaction'
createTransactions(db, strictQueue, { requireTransaction: false });
