/** What is no database and no transaction is refused by name. */
import type { Pool } from 'pg';
import type { Sql } from 'postgres';
import { createWorker } from '../../../src/worker.js';
import { db, orders, queue, registry, tx } from '../app.js';

declare const client: Sql;
declare const pool: Pool;
const handlers = { countOrders: () => ({ count: 0 }) };

// @ts-expect-error TS2739 or TS2345: 'Sql<{}>' is missing the following properties from type 'Executor': execute, transaction
await queue.enqueue(client, 'ping');
// @ts-expect-error TS2739 or TS2345: 'Pool' is missing the following properties from type 'Executor': execute, transaction
await queue.enqueue(pool, 'ping');
// @ts-expect-error TS2741 or TS2345: Property 'transaction' is missing in type 'Pg … required in type 'Executor'.
await queue.enqueue(db.select().from(orders), 'ping');
// @ts-expect-error TS2345: Argument of type 'undefined' is not assignable to parameter of type 'Executor'.
await queue.enqueue(undefined, 'ping');
// @ts-expect-error TS2345: Argument of type 'string' is not assignable to parameter of type 'Executor'.
await queue.enqueue('ping', 'ping');

// @ts-expect-error TS2322: Types of property 'rollback' are incompatible.
createWorker({ db: tx, registry, queues: { reports: 1 }, handlers });
// @ts-expect-error TS2739: 'Sql<{}>' is missing the following properties from type 'Database': execute, transaction
createWorker({ db: client, registry, queues: { reports: 1 }, handlers });
// @ts-expect-error TS2739 or TS2322: Type 'Sql<{}>' is … type 'Database'
createWorker({ db, directDb: client, registry, queues: { reports: 1 }, handlers });
