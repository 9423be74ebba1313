/** Kinds whose payloads changed, or that were renamed: what their steps, handlers and rows are given. */
import { eq } from 'drizzle-orm';
import { expectTypeOf } from 'vitest';
import {
  createQueue,
  defineJobs,
  type JobType,
  job,
  type PayloadOf,
  type ReadRow,
} from '../../../src/index.js';
import { createWorker } from '../../../src/worker.js';
import { db, tx } from '../app.js';

interface V1 {
  user: number;
}
interface V2 {
  userId: number;
}
interface V3 {
  userId: number;
  locale: string;
}

const registry = defineJobs({
  sendMail: job<V3>({
    version: 3,
    dedupeKey: ({ locale }) => locale,
    retry: (_e, _n, { locale }) => locale.length,
  })
    .upgradeFrom<V2>(2, (old) => {
      expectTypeOf(old).toEqualTypeOf<V2>();
      return { ...old, locale: 'en' };
    })
    .upgradeFrom<V1>(1, ({ user }) => ({ userId: user }))
    .alias('send_mail', 'mail')
    .queue('mail'),
  // In any order, and inferred from the step.
  count: job<{ n: number }, { n: number }>({ version: 2 })
    .alias('counter')
    .queue('reports')
    .upgradeFrom(1, (old: { count: string }) => ({ n: Number(old.count) })),
  // Kinds that had no payload, or have none any more.
  sweep: job({ version: 2 }).upgradeFrom<{ older: string }>(1, () => {}),
  report: job<{ day: string }>({ version: 2 }).upgradeFrom<void>(1, () => ({ day: 'today' })),
  ping: job({ version: undefined }),
});
type R = typeof registry;

expectTypeOf(registry.kinds.sendMail).toEqualTypeOf<JobType<V3, void, 'mail', V1, 'send_mail' | 'mail'>>();
expectTypeOf<PayloadOf<R, 'sendMail'>>().toEqualTypeOf<V3>();
expectTypeOf(registry.kinds.count.$result).toEqualTypeOf<{ n: number }>();
expectTypeOf(registry.kinds.ping.$aliases).toEqualTypeOf<readonly never[]>();

const queue = createQueue(registry);
await queue.enqueue(tx, 'sendMail', { userId: 1, locale: 'de' });

export const worker = createWorker({
  db,
  registry,
  queues: { mail: 1, reports: 1, default: 1 },
  handlers: {
    sendMail: (payload, context) => {
      expectTypeOf(payload).toEqualTypeOf<V3>();
      expectTypeOf(context.kind).toEqualTypeOf<'sendMail'>();
    },
    count: ({ n }) => ({ n }),
    sweep: () => {},
    report: ({ day }) => console.log(day),
    ping: () => {},
  },
});

// Rows may have an alias as their kind.
const { jobs } = queue.tables;
const [row] = await db.select().from(jobs).where(eq(jobs.kind, 'send_mail'));
expectTypeOf(jobs.$inferSelect.kind).toEqualTypeOf<keyof R['kinds'] | 'send_mail' | 'mail' | 'counter'>();

if (row) {
  const job = queue.read(row);
  expectTypeOf(job.kind).toEqualTypeOf<keyof R['kinds']>();
  expectTypeOf(job.payloadVersion).toEqualTypeOf<number>();
  expectTypeOf(job.runAt).toEqualTypeOf<Date>();
  switch (job.kind) {
    case 'sendMail':
      expectTypeOf(job.payload).toEqualTypeOf<V3>();
      break;
    case 'count':
      expectTypeOf(job.payload).toEqualTypeOf<{ n: number }>();
      break;
    case 'ping':
      expectTypeOf(job.payload).toEqualTypeOf<Record<string, never>>();
  }
  if (queue.isKind(job, 'report')) expectTypeOf(job.payload.day).toEqualTypeOf<string>();
}

// A selection keeps its other columns, and a row by hand will do.
const selected = await db
  .select({ at: jobs.runAt, kind: jobs.kind, payload: jobs.payload, payloadVersion: jobs.payloadVersion })
  .from(jobs);
export const times = selected.map((one) => queue.read(one)).map(({ at }) => at.getTime());
const { read } = queue;
const byHand = { kind: 'mail', payload: { user: 1 }, payloadVersion: 1 };
expectTypeOf(read(byHand)).toEqualTypeOf<ReadRow<R, typeof byHand>>();
