/** The jobs table under the registry's types: rows, conditions and joins with the app's own table. */
import { and, eq, inArray } from 'drizzle-orm';
import { alias, pgSchema } from 'drizzle-orm/pg-core';
import { expectTypeOf } from 'vitest';
import { createQueue, type JobError, type State } from '../../../src/index.js';
import { type jobThrottle, type jobs as plainJobs, queueTables } from '../../../src/schema.js';
import { db, orders, queue, type Receipt, registry } from '../app.js';

const { jobs } = queue.tables;

type Kind = 'sendReceipt' | 'sendReminder' | 'reindex' | 'countOrders' | 'ping';
type Payload =
  | Receipt
  | { userId: number; at: 'morning' | 'evening' }
  | { courseId: number }
  | { day: string }
  | Record<string, never>;
interface Row {
  id: number;
  queue: string;
  kind: Kind;
  payload: Payload;
  payloadVersion: number;
  priority: number;
  runAt: Date;
  state: State;
  attempts: number;
  maxAttempts: number;
  timeoutS: number;
  timeoutMs: number | null;
  lockedBy: string | null;
  heartbeatAt: Date | null;
  startedAt: Date | null;
  lastError: string | null;
  errors: readonly JobError[];
  dedupeKey: string | null;
  again: unknown;
  limitKey: string | null;
  meta: { readonly [key: string]: unknown } | null;
  result: unknown;
  createdAt: Date;
  finishedAt: Date | null;
}

expectTypeOf<keyof typeof jobs.$inferSelect>().toEqualTypeOf<keyof Row>();
expectTypeOf<typeof jobs.$inferSelect>().branded.toEqualTypeOf<Row>();
expectTypeOf<(typeof jobs.$inferSelect)['kind']>().toEqualTypeOf<Kind>();
expectTypeOf<(typeof jobs.$inferSelect)['payload']>().toEqualTypeOf<Payload>();
expectTypeOf<State>().toEqualTypeOf<'available' | 'running' | 'completed' | 'discarded' | 'cancelled'>();

// Without a registry, kinds are text and payloads unknown.
expectTypeOf<(typeof plainJobs.$inferSelect)['kind']>().toEqualTypeOf<string>();
expectTypeOf<(typeof plainJobs.$inferSelect)['payload']>().toEqualTypeOf<unknown>();
expectTypeOf<keyof typeof plainJobs.$inferSelect>().toEqualTypeOf<keyof Row>();

export async function read(): Promise<void> {
  const [row] = await db.select().from(jobs).where(eq(jobs.kind, 'sendReceipt'));
  expectTypeOf(row?.kind).toEqualTypeOf<Kind | undefined>();
  expectTypeOf(row?.runAt).toEqualTypeOf<Date | undefined>();

  const [joined] = await db
    .select({ title: orders.title, kind: jobs.kind, state: jobs.state, payload: jobs.payload })
    .from(orders)
    .innerJoin(jobs, eq(jobs.id, orders.receiptJob))
    .where(and(inArray(jobs.kind, ['sendReceipt', 'ping']), eq(jobs.state, 'discarded')));
  expectTypeOf(joined?.title).toEqualTypeOf<string | undefined>();
  expectTypeOf(joined?.kind).toEqualTypeOf<Kind | undefined>();
  expectTypeOf(joined?.state).toEqualTypeOf<State | undefined>();
  expectTypeOf(joined?.payload).toEqualTypeOf<Payload | undefined>();

  const [left] = await db
    .select({ id: orders.id, kind: jobs.kind })
    .from(orders)
    .leftJoin(jobs, eq(jobs.id, orders.receiptJob));
  expectTypeOf(left?.kind).toEqualTypeOf<Kind | null | undefined>();

  const other = alias(jobs, 'other');
  const [aliased] = await db.select({ kind: other.kind }).from(other);
  expectTypeOf(aliased?.kind).toEqualTypeOf<Kind | undefined>();

  await db.update(jobs).set({ priority: 5 }).where(eq(jobs.kind, 'ping'));
  await db.delete(jobs).where(eq(jobs.state, 'discarded'));
  await db.insert(jobs).values({ kind: 'reindex', payload: { courseId: 1 } });
  await db.insert(jobs).values({ kind: 'ping' });
}

// The table of throttles, which an app may leave out.
const own = queueTables();
expectTypeOf<typeof own.jobThrottle.$inferSelect>().branded.toEqualTypeOf<{
  id: number;
  kind: string;
  key: string;
  until: Date;
  jobId: number | null;
}>();
expectTypeOf<keyof typeof jobThrottle.$inferSelect>().toEqualTypeOf<
  keyof typeof own.jobThrottle.$inferSelect
>();
export const withoutThrottles = createQueue(registry, { tables: { jobs: own.jobs } });
export const withThrottles = createQueue(registry, { tables: own });
export const asItIs = createQueue(registry, { tables: queue.tables });
export async function throttles(): Promise<void> {
  const table = queue.tables.jobThrottle;
  if (!table) return;
  const [slot] = await db.select().from(table);
  expectTypeOf(slot?.until).toEqualTypeOf<Date | undefined>();
}

// In a Postgres schema of their own, with or without the registry's types.
const work = queueTables<typeof registry>({ schema: pgSchema('work') });
expectTypeOf<(typeof work.jobs.$inferSelect)['kind']>().toEqualTypeOf<Kind>();
export const elsewhere = createQueue(registry, { tables: work });
export const untyped = createQueue(registry, { tables: queueTables({ schema: pgSchema('work') }) });
expectTypeOf<(typeof elsewhere.tables.jobs.$inferSelect)['kind']>().toEqualTypeOf<Kind>();
expectTypeOf<(typeof untyped.tables.jobs.$inferSelect)['kind']>().toEqualTypeOf<Kind>();
