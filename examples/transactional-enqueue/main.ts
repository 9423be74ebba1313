/** The job exists if and only if the order does. */
import { createQueue, defineJobs, job } from 'drizzle-queue';
import { createWorker } from 'drizzle-queue/worker';
import { openDatabase, orders } from '../database.js';

const registry = defineJobs({ sendReceipt: job<{ orderId: number }>() });
const queue = createQueue(registry, { requireTransaction: true });
const db = await openDatabase();

async function order(email: string): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx.insert(orders).values({ email }).returning();
    if (!row) throw new Error('The order was not inserted.');
    await queue.enqueue(tx, 'sendReceipt', { orderId: row.id });
    if (!email.includes('@')) throw new Error(`${email} is no address`);
  });
}

const all = ['ann@example.com', 'nobody', 'bob@example.com'];
for (const email of all) {
  await order(email).catch((error: Error) => console.log(`rolled back: ${error.message}`));
}

const worker = createWorker({
  db,
  registry,
  queues: { default: 1 },
  log: false,
  handlers: {
    sendReceipt: async ({ orderId }) => console.log(`receipt for order ${orderId}`),
  },
});
await new Promise<void>((resolve) => {
  let completed = 0;
  worker.on('completed', () => {
    if (++completed === 2) resolve();
  });
  void worker.start();
});
await worker.stop();
const [{ count } = { count: undefined }] = (
  await db.$client.query<{ count: number }>('select count(*) from jobs')
).rows;
console.log(`${count} jobs are left`);
await db.$client.close();
