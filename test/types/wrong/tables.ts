/** Mistakes with the jobs table that the compiler must find. */
import { eq } from 'drizzle-orm';
import { createQueue } from '../../../src/index.js';
import { queueTables } from '../../../src/schema.js';
import { db, orders, queue, registry } from '../app.js';

const { jobs } = queue.tables;

// @ts-expect-error TS2769: No overload matches this call. … 'never'.
await db.select().from(jobs).where(eq(jobs.kind, 'nope'));
// @ts-expect-error TS2769: No overload matches this call. … 'never'.
await db.select().from(jobs).where(eq(jobs.state, 'done'));
// @ts-expect-error TS2769: No overload matches this call. … 'never'.
await db.select().from(jobs).where(eq(jobs.id, '1'));
// @ts-expect-error TS2551: Property 'attempt' does not exist … Did you mean 'attempts'?
await db.select({ attempt: jobs.attempt }).from(jobs);
// @ts-expect-error TS2322: Type '"nope"' is not assignable
await db.update(jobs).set({ kind: 'nope' });
// @ts-expect-error TS2769: No overload matches this call.
await db.insert(jobs).values({ payload: { orderId: 1 } });
// @ts-expect-error TS2322: Type 'string' is not assignable to type '{ readonly table:
queueTables({ schema: 'work' });
// @ts-expect-error TS2769: is missing the following properties … lockedBy
createQueue(registry, { tables: { jobs: orders } });
