/** The schema of the app that is installed in every kind of project. */
import { bigint, pgTable } from 'drizzle-orm/pg-core';

export * from 'drizzle-queue/schema';
export const orders = pgTable('orders', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  receiptJob: bigint('receipt_job', { mode: 'number' }),
});
