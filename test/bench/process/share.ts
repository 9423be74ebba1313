/** Works on a table beside other processes: none of them knows when all is done, so the harness asks. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Contender } from '../contenders/contender.js';
import { monotonicMs } from './monotonic.js';

export interface ShareOptions {
  /** How long a handler waits, as for an answer from elsewhere; only where the contender awaits its handler. @default 0 */
  readonly jobMs?: number | undefined;
}

/** What one process did of it. */
export interface Shared {
  /** Each claim that brought jobs; empty where the contender does not tell. */
  readonly claims: readonly { readonly atMs: number; readonly tookMs: number }[];
  /** Statements that failed, of a contender that tells. */
  readonly errors: number;
}

export interface Sharing {
  /** How many handlers were called. */
  begun(): number;
  stop(): Promise<Shared>;
}

export async function share(contender: Contender, { jobMs = 0 }: ShareOptions): Promise<Sharing> {
  const claims: { atMs: number; tookMs: number }[] = [];
  let begun = 0;
  let errors = 0;
  const working = await contender.work?.({
    job() {
      begun++;
      return jobMs > 0 ? delay(jobMs) : undefined;
    },
    claimed(tookMs) {
      if (tookMs !== undefined) claims.push({ atMs: monotonicMs(), tookMs });
    },
    failed: () => errors++,
  });
  if (!working) throw new Error('It cannot work.');
  return {
    begun: () => begun,
    async stop() {
      await working.stop();
      return { claims, errors };
    },
  };
}
