/** Rows of the jobs table narrowed by kind: whole ones, joined ones, selected ones, and none. */
import { desc, eq } from 'drizzle-orm';
import { expectTypeOf } from 'vitest';
import type { RowOfKind } from '../../../src/index.js';
import { db, orders, queue, type Receipt, type registry } from '../app.js';

const { jobs } = queue.tables;
type Registry = typeof registry;

expectTypeOf<RowOfKind<Registry, 'sendReceipt'>['payload']>().toEqualTypeOf<Receipt>();
expectTypeOf<RowOfKind<Registry, 'ping'>['payload']>().toEqualTypeOf<Record<string, never>>();

export async function narrow(): Promise<void> {
  const [row] = await db.select().from(jobs).where(eq(jobs.kind, 'sendReceipt'));
  // The query may have found none.
  if (queue.isKind(row, 'sendReceipt')) {
    expectTypeOf(row.kind).toEqualTypeOf<'sendReceipt'>();
    expectTypeOf(row.payload).toExtend<Receipt>();
    expectTypeOf(row.payload.orderId).toEqualTypeOf<number>();
    expectTypeOf(row.payload.note).toEqualTypeOf<string | undefined>();
    expectTypeOf(row.runAt).toEqualTypeOf<Date>();
  } else {
    // Not that kind, or no row.
    expectTypeOf(row).toEqualTypeOf<typeof jobs.$inferSelect | undefined>();
  }

  // A selection, and what a left join makes of it.
  const [joined] = await db
    .select({ title: orders.title, kind: jobs.kind, payload: jobs.payload })
    .from(orders)
    .leftJoin(jobs, eq(jobs.id, orders.receiptJob))
    .orderBy(desc(orders.id));
  if (queue.isKind(joined, 'sendReminder')) {
    expectTypeOf(joined.kind).toEqualTypeOf<'sendReminder'>();
    expectTypeOf(joined.payload.at).toEqualTypeOf<'morning' | 'evening'>();
    expectTypeOf(joined.title).toEqualTypeOf<string>();
  }

  // Whole tables side by side.
  const [both] = await db.select().from(orders).leftJoin(jobs, eq(jobs.id, orders.receiptJob));
  if (both && queue.isKind(both.jobs, 'reindex')) {
    expectTypeOf(both.jobs.payload.courseId).toEqualTypeOf<number>();
    expectTypeOf(both.jobs.attempts).toEqualTypeOf<number>();
  }
}

/** One kind after the other. */
export function describeRow(row: typeof jobs.$inferSelect): string {
  if (queue.isKind(row, 'sendReceipt')) return `receipt ${row.payload.orderId}`;
  if (queue.isKind(row, 'countOrders')) return `orders of ${row.payload.day}`;
  if (queue.isKind(row, 'ping')) expectTypeOf(row.payload).toExtend<Record<string, never>>();
  return row.kind;
}

/** Detached, and as a filter, which says what it keeps so that TypeScript 5.4 knows. */
export function receipts(rows: (typeof jobs.$inferSelect)[]): number[] {
  const { isKind } = queue;
  return rows
    .filter((row): row is typeof row & RowOfKind<Registry, 'sendReceipt'> => isKind(row, 'sendReceipt'))
    .map(({ payload }) => payload.orderId);
}

/** An untyped row, as from a statement by hand. */
export function receiptOf(row: { kind: string; payload: unknown }): Receipt | undefined {
  return queue.isKind(row, 'sendReceipt') ? row.payload : undefined;
}
