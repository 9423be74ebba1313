/** Reading jobs: what comes back has the registry's types, by kind. */
import { desc, eq } from 'drizzle-orm';
import { expectTypeOf } from 'vitest';
import type {
  AnyRegistry,
  DeadLetterGroup,
  JobCounts,
  JobOf,
  JobPage,
  JobType,
  KeptKind,
  Queue,
  Reading,
} from '../../../src/index.js';
import { createQueue, defineJobs, job } from '../../../src/index.js';
import { db, orders, queue, type Receipt, type registry, strictQueue, tx } from '../app.js';

type Registry = typeof registry;
type Kind = keyof Registry['kinds'];

export async function read(id: number, after: number | undefined): Promise<string> {
  const found = await queue.get(db, id);
  expectTypeOf(found).toEqualTypeOf<JobOf<Registry> | undefined>();
  if (!found) return 'none';
  expectTypeOf(found.kind).toEqualTypeOf<Kind>();
  expectTypeOf(found.runAt).toEqualTypeOf<Date>();
  expectTypeOf(found.finishedAt).toEqualTypeOf<Date | null>();
  switch (found.kind) {
    case 'sendReceipt':
      expectTypeOf(found.payload).toEqualTypeOf<Receipt>();
      expectTypeOf(found.result).toEqualTypeOf<null>();
      return `receipt ${found.payload.orderId}`;
    case 'countOrders':
      expectTypeOf(found.result).toEqualTypeOf<{ count: number } | null>();
      return `${found.payload.day}: ${found.result?.count}`;
    case 'ping':
      expectTypeOf(found.payload).toEqualTypeOf<Record<string, never>>();
      return 'ping';
  }

  expectTypeOf(await queue.list(tx)).toEqualTypeOf<JobPage<JobOf<Registry, Kind>>>();
  const page = await queue.list(db, {
    kind: 'countOrders',
    state: 'completed',
    limit: 10,
    after,
    order: 'oldest',
  });
  expectTypeOf(page.jobs).toEqualTypeOf<readonly JobOf<Registry, 'countOrders'>[]>();
  expectTypeOf(page.jobs[0]?.payload.day).toEqualTypeOf<string | undefined>();
  await queue.list(db, { after: page.next, finishedBefore: new Date(), errorMatches: 'luck', queue: 'mail' });

  expectTypeOf(await queue.counts(db)).toEqualTypeOf<JobCounts<Kind>[]>();
  expectTypeOf(await queue.counts(db, { kind: 'ping' })).toEqualTypeOf<JobCounts<'ping'>[]>();
  expectTypeOf(await queue.deadLetters(tx, { limit: 5 })).toEqualTypeOf<DeadLetterGroup<Kind>[]>();
  return 'another';
}

export async function wait(id: number, timeoutMs: number | undefined): Promise<number> {
  const result = await queue.wait(db, 'countOrders', id, { timeoutMs });
  expectTypeOf(result).toEqualTypeOf<{ count: number }>();
  // Also detached, and where enqueues need a transaction: what is waited for has to be committed.
  const { wait } = strictQueue;
  return (await wait(db, 'countOrders', id)).count + result.count;
}

/** A wrapper that hands the kind on. */
export function waitBriefly<K extends Kind>(kind: KeptKind<Registry, K>, id: number) {
  return queue.wait<K>(db, kind, id, { timeoutMs: 1_000 });
}
expectTypeOf(waitBriefly('countOrders', 1)).toEqualTypeOf<Promise<{ count: number }>>();

// Which kinds keep their rows is part of their type, whatever is said first.
const kept = job<{ n: number }, { twice: number }>({ maxAttempts: 1 }).onComplete('keep').queue('numbers');
expectTypeOf(kept).toEqualTypeOf<
  JobType<{ n: number }, { twice: number }, 'numbers', { n: number }, never, 'keep'>
>();
expectTypeOf(kept.onComplete('delete').$onComplete).toEqualTypeOf<'delete'>();
expectTypeOf(job().$onComplete).toEqualTypeOf<'delete'>();
const others = createQueue(defineJobs({ kept, sweep: job().onComplete('keep') }));
export async function waitForOthers(): Promise<void> {
  expectTypeOf(await others.wait(db, 'kept', 1)).toEqualTypeOf<{ twice: number }>();
  expectTypeOf(await others.wait(db, 'sweep', 1)).toEqualTypeOf<void>();
}

// What a function may ask for that knows no registry, and one that knows this one.
export const readsAny = (reading: Reading<AnyRegistry>) => reading.counts(db);
export const countsOf = (some: Pick<Queue<Registry>, 'counts'>) => some.counts(db);
void readsAny(queue);
void countsOf(strictQueue);

/** A join: the result is that of the kind. */
export async function joined(): Promise<number | undefined> {
  const { jobs } = queue.tables;
  const [row] = await db
    .select({ title: orders.title, kind: jobs.kind, payload: jobs.payload, result: jobs.result })
    .from(orders)
    .leftJoin(jobs, eq(jobs.id, orders.receiptJob))
    .orderBy(desc(orders.id));
  return queue.isKind(row, 'countOrders') ? row.result?.count : undefined;
}
