/** Places an order with its job, finds the job by its order, and works until the receipt is out. */
import { eq } from 'drizzle-orm';
import { createQueue, defineJobs, job } from 'drizzle-queue';
import { createWorker } from 'drizzle-queue/worker';
import { close, db } from './db.js';
import { orders } from './schema.js';

const registry = defineJobs({ sendReceipt: job<{ orderId: number }>().queue('mail'), sweep: job() });
const queue = createQueue(registry, { requireTransaction: true });
const { jobs } = queue.tables;

async function main(): Promise<void> {
  const orderId = await db.transaction(async (tx) => {
    const [order] = await tx.insert(orders).values({}).returning();
    if (!order) throw new Error('There is no order.');
    const { id } = await queue.enqueue(tx, 'sendReceipt', { orderId: order.id });
    await tx.update(orders).set({ receiptJob: id }).where(eq(orders.id, order.id));
    return order.id;
  });

  const [row] = await db
    .select({ kind: jobs.kind, payload: jobs.payload, state: jobs.state })
    .from(orders)
    .innerJoin(jobs, eq(jobs.id, orders.receiptJob))
    .where(eq(orders.id, orderId));
  if (queue.isKind(row, 'sendReceipt'))
    console.log(
      `${row.state}: the receipt for ${row.payload.orderId === orderId ? 'this order' : 'another'}`,
    );
  const worker = createWorker({
    db,
    registry,
    queues: { mail: 1 },
    handlers: { sendReceipt: (_payload, { kind, attempt }) => console.log(`${kind}, attempt ${attempt}`) },
    log: false,
  });
  const completed = new Promise<unknown>((resolve) => worker.on('completed', resolve));
  await worker.start();
  await completed;
  await worker.stop();
  console.log(`left: ${(await db.select().from(jobs)).length}`);
  await close();
}

/** Not called: unused expectations are errors, so these fail when types have silently become `any`. */
export const mistakes = () => [
  // @ts-expect-error there is no such kind
  eq(jobs.kind, 'sendReciept'),
  // @ts-expect-error there is no such column
  jobs.attempt,
  // @ts-expect-error there is no such field
  db.transaction((tx) => queue.enqueue(tx, 'sendReceipt', { orderid: 1 })),
  // @ts-expect-error a database is no transaction
  queue.enqueue(db, 'sweep'),
];

void main();
