/** `queue.isKind`: which rows are of a kind, as they come from real queries. */
import { asc, eq } from 'drizzle-orm';
import { bigint, pgTable } from 'drizzle-orm/pg-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { queue } from './stage.js';

const database = useDatabase();
const { jobs } = queue.tables;
const orders = pgTable('orders', {
  id: bigint('id', { mode: 'number' }).primaryKey(),
  receiptJob: bigint('receipt_job', { mode: 'number' }),
});

beforeAll(async () => {
  await database.sql`create table orders (id bigint primary key, receipt_job bigint)`;
  const { id } = await queue.enqueue(database.db, 'sendReceipt', { orderId: 7 });
  await queue.enqueue(database.db, 'ping');
  await database.db.insert(orders).values([{ id: 7, receiptJob: id }, { id: 8 }]);
});

describe('isKind', () => {
  it('tells rows of a kind, whose payload has that kind’s type', async () => {
    const rows = await database.db.select().from(jobs).orderBy(asc(jobs.id));
    const found = rows.map((row) => (queue.isKind(row, 'sendReceipt') ? row.payload.orderId : 'another'));
    expect(found).toEqual([7, 'another']);
    expect(rows.map((row) => queue.isKind(row, 'ping'))).toEqual([false, true]);
  });

  it('takes the two columns of a join, where an order without a job is of no kind', async () => {
    const rows = await database.db
      .select({ order: orders.id, kind: jobs.kind, payload: jobs.payload })
      .from(orders)
      .leftJoin(jobs, eq(jobs.id, orders.receiptJob))
      .orderBy(asc(orders.id));
    expect(rows).toHaveLength(2);
    expect(rows.filter((row) => queue.isKind(row, 'sendReceipt')).map((row) => row.order)).toEqual([7]);
  });

  it('says no where the query found no row', async () => {
    const [row] = await database.db.select().from(jobs).where(eq(jobs.id, -1));
    expect(queue.isKind(row, 'ping')).toBe(false);
    expect(queue.isKind(null, 'ping')).toBe(false);
  });

  it('works when taken off its object', () => {
    const { isKind } = queue;
    expect(isKind({ kind: 'ping', payload: {} }, 'ping')).toBe(true);
  });

  it.each(['sendReciept', 'constructor', 5, undefined])(
    'refuses the kind %j, which nobody defined',
    (kind) => {
      const ask = () => Reflect.apply(queue.isKind, undefined, [{ kind, payload: {} }, kind]);
      expect(ask).toThrow(expect.objectContaining({ code: 'UNKNOWN_KIND' }));
    },
  );
});
