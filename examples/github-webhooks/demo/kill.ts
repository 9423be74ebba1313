/** Kills a worker while it is provably in the middle of a job: its delivery was accepted and is not answered yet. */
import { setTimeout as delay } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import type { Db } from '../database.js';
import { jobs } from '../schema.js';
import type { Held, Sink } from './sink.js';
import type { WorkerProcess } from './worker-process.js';

const limitMs = 20_000;

export interface Killed {
  readonly worker: WorkerProcess;
  readonly job: number;
}

export async function killInTheMiddle(
  workers: readonly WorkerProcess[],
  sink: Sink,
  db: Db,
): Promise<Killed> {
  const { received, release } = await Promise.race([sink.hold(), tooLate()]);
  const worker = workers.find(({ name }) => name === received.by);
  if (!worker) throw new Error(`Nobody knows the worker ${received.by}.`);
  await worker.kill();
  release();
  const [row] = await db.select().from(jobs).where(eq(jobs.id, received.job));
  if (row?.state !== 'running')
    throw new Error(`Job ${received.job} is not running, but ${row?.state ?? 'gone'}.`);
  return { worker, job: received.job };
}

async function tooLate(): Promise<Held> {
  await delay(limitMs, undefined, { ref: false });
  throw new Error(`No delivery was accepted within ${limitMs} ms.`);
}
