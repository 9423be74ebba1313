/**
 * A database for one run of an example: PGlite, Postgres inside this process, with the app's tables and the queue's. An app
 * has migrations made by drizzle-kit for both, as `github-webhooks` shows.
 */
import { readdir, readFile } from 'node:fs/promises';
import { PGlite } from '@electric-sql/pglite';
import { bigint, integer, pgTable, text } from 'drizzle-orm/pg-core';
import { drizzle, type PgliteDatabase } from 'drizzle-orm/pglite';

/** The app's own table. */
export const orders = pgTable('orders', {
  id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
  email: text('email').notNull(),
  receipts: integer('receipts').notNull().default(0),
  /** No foreign key: a completed job's row is deleted. */
  receiptJob: bigint('receipt_job', { mode: 'number' }),
});

const ordersTable = `
  create table orders (
    id          int generated always as identity primary key,
    email       text not null,
    receipts    int not null default 0,
    receipt_job bigint
  )`;

export type Db = PgliteDatabase & { readonly $client: PGlite };

export async function openDatabase(): Promise<Db> {
  const client = new PGlite();
  const folder = new URL('../drizzle/', import.meta.url);
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  for (const file of files) await client.exec(await readFile(new URL(file, folder), 'utf8'));
  await client.exec(ordersTable);
  return drizzle({ client });
}
