/** Works until everything that is due is finished, and records how that went over time. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Contender } from '../contenders/contender.js';

export interface DrainOptions {
  /** How many jobs there are. */
  readonly jobs: number;
  /** Looks at the progress so often. @default 200 */
  readonly points?: number | undefined;
  /** Records the heap after a collection at each point; needs --expose-gc. @default false */
  readonly heap?: boolean | undefined;
}

export interface Drained {
  /** From the first handler's start until the last finish was in the database. */
  readonly ms: number;
  /** How many handlers had been called, when. */
  readonly progress: readonly { readonly atMs: number; readonly jobs: number }[];
  /** What each claim took, and how many jobs had been begun before it; empty where the contender does not tell. */
  readonly claims: readonly { readonly afterJobs: number; readonly tookMs: number }[];
  /** In MB, at each point; empty where it was not asked for. */
  readonly heapMb: readonly number[];
  readonly rssMb: number;
}

export async function drain(
  contender: Contender,
  { jobs, points = 200, heap = false }: DrainOptions,
): Promise<Drained> {
  const progress: { atMs: number; jobs: number }[] = [];
  const claims: { afterJobs: number; tookMs: number }[] = [];
  const heapMb: number[] = [];
  const every = Math.max(1, Math.floor(jobs / points));
  let begun = 0;
  let startedAt = 0;
  let allBegun = (): void => {};
  const begunAll = new Promise<void>((resolve) => (allBegun = resolve));

  const working = await contender.work?.({
    job() {
      if (begun === 0) startedAt = performance.now();
      begun++;
      if (begun % every === 0) {
        progress.push({ atMs: performance.now() - startedAt, jobs: begun });
        if (heap) heapMb.push(heapNow());
      }
      if (begun === jobs) allBegun();
    },
    claimed(tookMs) {
      if (tookMs !== undefined) claims.push({ afterJobs: begun, tookMs });
    },
  });
  if (!working) throw new Error('It cannot work.');
  await begunAll;
  while (await contender.unfinished?.()) await delay(2);
  const ms = performance.now() - startedAt;
  const rssMb = process.memoryUsage.rss() / 2 ** 20;
  await working.stop();
  return { ms, progress, claims, heapMb, rssMb };
}

function heapNow(): number {
  if (!globalThis.gc) throw new Error('Start the process with --expose-gc.');
  globalThis.gc();
  return process.memoryUsage().heapUsed / 2 ** 20;
}
