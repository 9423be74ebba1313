/** The loop of a worker that runs once: it claims until nothing is due, or until it may not any more. */
import { largestClaim } from '../sql/claim-next.js';
import { createAlarm } from './alarm.js';
import { createBatchSize } from './batch-size.js';
import { createClaims } from './claims.js';
import type { Events } from './events.js';
import { createGap, createRetryGap } from './gap.js';
import type { Loop, LoopOptions } from './loop.js';
import { createOrphans } from './orphans.js';
import { jobInfo } from './report.js';
import type { Statements } from './statements.js';

/** The gaps between two looks while handlers are at work, or their ends are not written: each twice the last. */
const gapMs = { shortest: 5, longest: 1_000 };

export interface Pass extends Loop {
  /** Whether a look found that nothing is due, with no handler at work that could have enqueued more. */
  exhausted(): boolean;
  /** Why there was no look at all; undefined where there was one, or nothing to look for. */
  fault(): { readonly error: unknown } | undefined;
}

/**
 * `mayClaim` says whether there is time for more jobs, given the longest that a handler took so far; once it says no, the pass
 * is over.
 */
export function createPass(
  statements: Statements,
  events: Events,
  options: LoopOptions,
  mayClaim: (longestMs: number) => boolean,
): Pass {
  const alarm = createAlarm();
  const gap = createGap(gapMs.shortest, gapMs.longest);
  const retryGap = createRetryGap();
  const batchSize = createBatchSize(largestClaim);
  const orphans = createOrphans(statements, options.table);
  const { table, worker, served } = options;
  const claims = createClaims(statements, events, { table, worker, served, orphaned: orphans.add });
  let begun = Promise.resolve();
  let stopped = false;
  let looked = false;
  let fault: { readonly error: unknown } | undefined;
  let exhausted = false;
  let tookLongestMs = 0;

  /** How many jobs it took, and whether that was all it had room for. */
  async function look(room: ReadonlyMap<string, number>): Promise<{ found: number; full: boolean }> {
    await orphans.release();
    const want = new Map([...room].map(([queue, n]) => [queue, Math.min(n, batchSize.now())]));
    const began = performance.now();
    const { jobs } = await claims.take(want, new Map(), false);
    const tookMs = performance.now() - began;
    batchSize.succeeded();
    looked = true;
    if (jobs.length === 0) return { found: 0, full: false };
    if (stopped || tookMs > options.leaseMs) {
      for (const lockedBy of new Set(jobs.map((job) => job.lockedBy))) orphans.add(lockedBy);
      return { found: jobs.length, full: false };
    }
    if (events.heard('claimed')) events.emit('claimed', { jobs: jobs.map(jobInfo), durationMs: tookMs });
    begun = options.take(jobs);
    await begun;
    const wanted = [...want.values()].reduce((sum, n) => sum + n, 0);
    return { found: jobs.length, full: jobs.length === wanted };
  }

  /** One look where there is room, then a rest, which every handler that ends cuts short. */
  async function lookAndRest(): Promise<void> {
    await options.ready();
    const busy = options.busy(); // asked before the look: what a handler enqueues, it enqueues before it ends
    const room = options.room();
    const { found, full } = room.size > 0 ? await look(room) : { found: 0, full: false };
    retryGap.reset();
    if (found > 0) gap.reset();
    if (found === 0 && !busy) exhausted = true;
    else if (!full) await alarm.sleep(gap.next());
  }

  return {
    async run() {
      while (!stopped && !exhausted && mayClaim(tookLongestMs)) {
        try {
          await lookAndRest();
        } catch (error) {
          batchSize.failed(error);
          fault = { error };
          const retryInMs = retryGap.next();
          events.emit('error', { error, during: 'claim', retryInMs });
          await alarm.sleep(retryInMs);
        }
      }
      await begun;
      await orphans.release().catch(() => {}); // the rescuer finds them else
    },
    wake(_queue, tookMs = 0) {
      tookLongestMs = Math.max(tookLongestMs, tookMs);
      gap.reset(); // its end is about to be written, and the rest may hang on that
      alarm.wake();
    },
    look() {},
    lookFor() {},
    dueIn(_queue, ms) {
      if (ms <= 0) alarm.wake();
    },
    resumed() {
      alarm.wake();
    },
    stop() {
      stopped = true;
      alarm.wake();
    },
    exhausted: () => exhausted,
    fault: () => (looked || exhausted ? undefined : fault),
  };
}
