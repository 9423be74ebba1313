/** A page of the app that shows what becomes of its orders: one join with the jobs table, typed by the registry. */
import { asc, eq } from 'drizzle-orm';
import { createQueue, defineJobs, job } from 'drizzle-queue';
import { openDatabase, orders } from '../database.js';

const registry = defineJobs({ sendReceipt: job<{ orderId: number }>() });
const queue = createQueue(registry);
const { jobs } = queue.tables;
const db = await openDatabase();

for (const [email, delayMs] of [
  ['ann@example.com', 0],
  ['bob@example.com', 3_600_000],
  ['cay@example.com', undefined],
] as const) {
  await db.transaction(async (tx) => {
    const [order] = await tx.insert(orders).values({ email }).returning();
    if (!order || delayMs === undefined) return;
    const { id } = await queue.enqueue(tx, 'sendReceipt', { orderId: order.id }, { delayMs });
    await tx.update(orders).set({ receiptJob: id }).where(eq(orders.id, order.id));
  });
}

const page = await db
  .select({
    email: orders.email,
    kind: jobs.kind,
    state: jobs.state,
    runAt: jobs.runAt,
    payload: jobs.payload,
  })
  .from(orders)
  .leftJoin(jobs, eq(jobs.id, orders.receiptJob))
  .orderBy(asc(orders.id));

for (const row of page) {
  const status =
    row.state === null
      ? 'no receipt waits'
      : row.runAt && row.runAt.getTime() > Date.now()
        ? `${row.state}, in an hour`
        : `${row.state}, due`;
  // Narrowed: the payload has the type of the kind.
  const about = queue.isKind(row, 'sendReceipt') ? `order ${row.payload.orderId}` : 'nothing';
  console.log(`${row.email}: ${status} (${about})`);
}
await db.$client.close();
