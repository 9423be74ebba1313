/** A handler's writes and the end of its job commit together: what was counted is never counted twice. */
import { eq, sql } from 'drizzle-orm';
import { createQueue, defineJobs, job } from 'drizzle-queue';
import { createWorker } from 'drizzle-queue/worker';
import { openDatabase, orders } from '../database.js';

const registry = defineJobs({
  countReceipt: job<{ orderId: number }>({ retry: () => 100 }),
});
const queue = createQueue(registry);
const db = await openDatabase();

const [order] = await db.insert(orders).values({ email: 'ann@example.com' }).returning();
if (!order) throw new Error('The order was not inserted.');
await queue.enqueue(db, 'countReceipt', { orderId: order.id });

const worker = createWorker({
  db,
  registry,
  queues: { default: 1 },
  log: false,
  handlers: {
    countReceipt: ({ orderId }, job) =>
      db.transaction(async (tx) => {
        await tx
          .update(orders)
          .set({ receipts: sql`${orders.receipts} + 1` })
          .where(eq(orders.id, orderId));
        await job.complete(tx);
        console.log(`attempt ${job.attempt} has counted`);
        // What happens from here on to the commit takes the count back, and the end of the job with it.
        if (job.attempt < 3) throw new Error('the connection broke');
      }),
  },
});
await new Promise<void>((resolve) => {
  worker.on('failed', ({ job, error }) =>
    console.log(`attempt ${job.attempt} failed: ${(error as Error).message}`),
  );
  worker.on('completed', () => resolve());
  void worker.start();
});
await worker.stop();

const [counted] = await db.select().from(orders);
console.log(`counted ${counted?.receipts} time`);
await db.$client.close();
