/** A small app: its tables, its jobs, what enqueues them and what runs them. The tests beside it test this file. */
import { eq } from 'drizzle-orm';
import { bigint, boolean, type PgDatabase, type PgQueryResultHKT, pgTable, text } from 'drizzle-orm/pg-core';
import { createQueue, defineJobs, type Handlers, job } from 'drizzle-queue';

export { jobs } from 'drizzle-queue/schema';

export const orders = pgTable('orders', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  email: text('email').notNull(),
  confirmed: boolean('confirmed').notNull().default(false),
});

export const registry = defineJobs({
  sendReceipt: job<{ orderId: number }>({ maxAttempts: 3 }).queue('mail'),
  confirm: job<{ orderId: number }>(),
});
export const queue = createQueue(registry, { requireTransaction: true });

/** A database, or a transaction of one. */
export type Db = PgDatabase<PgQueryResultHKT>;

export async function placeOrder(db: Db, email: string): Promise<number> {
  return db.transaction(async (tx) => {
    const [order] = await tx.insert(orders).values({ email }).returning();
    if (!order) throw new Error('the order was not inserted');
    await queue.enqueue(tx, 'sendReceipt', { orderId: order.id });
    return order.id;
  });
}

/** A function of what handlers need, so that a test can give its transaction, and a mail server of its own. */
export function makeHandlers(db: Db, send: (to: string) => Promise<number>): Handlers<typeof registry> {
  return {
    sendReceipt: async ({ orderId }, job) => {
      const [order] = await db.select().from(orders).where(eq(orders.id, orderId));
      if (!order) return job.discard(`there is no order ${orderId}`);
      const status = await send(order.email);
      if (status === 429) return job.snooze({ delayMs: 60_000 });
      if (status >= 400) throw new Error(`mail answered ${status}`);
      await db.transaction((tx) => queue.enqueue(tx, 'confirm', { orderId }));
    },
    confirm: async ({ orderId }, job) => {
      await db.transaction(async (tx) => {
        await tx.update(orders).set({ confirmed: true }).where(eq(orders.id, orderId));
        await job.complete(tx);
      });
    },
  };
}
