/** Pauses that compile, and what they infer. */
import { expectTypeOf } from 'vitest';
import {
  createQueue,
  type Pausable,
  type PauseAnswer,
  type Paused,
  type Pauses,
} from '../../../src/index.js';
import { queueTables } from '../../../src/schema.js';
import type { PausedPart, WorkerEvents } from '../../../src/worker.js';
import { db, queue, registry, strictQueue, tx } from '../app.js';

export async function pauses(): Promise<void> {
  expectTypeOf(await queue.pause(db, { queue: 'mail' })).toEqualTypeOf<PauseAnswer>();
  expectTypeOf(await queue.resume(tx, { kind: 'sendReceipt' })).toEqualTypeOf<PauseAnswer>();
  await strictQueue.pause(tx, { queue: 'default' });

  const paused = await queue.paused(db);
  expectTypeOf(paused).toEqualTypeOf<Paused<typeof registry>[]>();
  for (const each of paused) {
    if (each.queue !== undefined) expectTypeOf(each.queue).toEqualTypeOf<'mail' | 'default' | 'reports'>();
    else expectTypeOf(each.kind).toEqualTypeOf<keyof (typeof registry)['kinds']>();
    expectTypeOf(each.pausedAt).toEqualTypeOf<Date>();
    await queue.resume(db, each);
  }
  const what: Pausable<typeof registry> = { kind: 'ping' };
  await queue.pause(tx, what);
  expectTypeOf(queue).toExtend<Pauses<typeof registry, typeof db>>();
}

// The table, which an app may leave out.
const own = queueTables<typeof registry>();
expectTypeOf<typeof own.jobLimits.$inferSelect>().branded.toEqualTypeOf<{
  id: number;
  scope: 'queue' | 'kind';
  name: string;
  pausedAt: Date;
}>();
export const withPauses = createQueue(registry, { tables: { jobs: own.jobs, jobLimits: own.jobLimits } });
expectTypeOf<WorkerEvents['paused']>().toEqualTypeOf<PausedPart>();
