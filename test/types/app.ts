/**
 * The app whose uses of the library the fixtures show: its registry, its queues, its own table, its database.
 * Compiled by types.test.ts, never run.
 */
import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import { createQueue, defineJobs, job } from '../../src/index.js';

export interface Receipt {
  orderId: number;
  note?: string;
}

export const registry = defineJobs({
  sendReceipt: job<Receipt>({ maxAttempts: 5, timeoutMs: 30_000 }).queue('mail'),
  sendReminder: job<{ userId: number; at: 'morning' | 'evening' }>().queue('mail'),
  reindex: job<{ courseId: number }>(),
  countOrders: job<{ day: string }, { count: number }>().queue('reports').onComplete('keep'),
  ping: job(),
});
export const queue = createQueue(registry);
export const strictQueue = createQueue(registry, { requireTransaction: true });

export const orders = pgTable('orders', {
  id: bigint('id', { mode: 'number' }).primaryKey(),
  title: text('title').notNull(),
  receiptJob: bigint('receipt_job', { mode: 'number' }),
});

export declare const db: PostgresJsDatabase;
export type AppTransaction = Parameters<Parameters<typeof db.transaction>[0]>[0];
export declare const tx: AppTransaction;
