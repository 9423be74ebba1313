/**
 * Where claims begin in each priority of each queue. Jobs that were claimed leave dead rows at the front of the index, and
 * until vacuum has removed them (never, under an old snapshot) every claim goes through all of them: so a claim begins
 * where the last one ended.
 *
 * Jobs can come to lie before that: by a transaction that takes long to commit, a `run_at` in the past, a replay, a clock
 * that steps back. A claim that looks at everything finds them: as often as it costs a tenth of the time, and always before
 * a queue counts as empty.
 */
import type { Level } from '../sql/claim-next.js';

/** Before the end of the last claim by so much: transactions that began earlier may commit until then. */
const marginUs = 1_000_000;
/** The longest time between two claims that look at everything. */
const longestMs = 10_000;
/** Of a queue with more priorities nothing is remembered. */
const mostLevels = 50;

/** What a claim found in a queue. */
interface Look {
  /** As many jobs as there was room for. */
  readonly full: boolean;
  readonly ended: readonly Level[];
  readonly nowUs: number;
}

export interface Bounds {
  /** Where to begin now, of these queues; a queue that is not in it is looked at as a whole. */
  of(queues: Iterable<string>): ReadonlyMap<string, readonly Level[]>;
  /** Told of each claim with the bounds that it was given, of all the queues it looked into. */
  looked(
    given: ReadonlyMap<string, readonly Level[]>,
    looks: ReadonlyMap<string, Look>,
    tookMs: number,
  ): void;
  /** Jobs may lie anywhere in the queue. */
  forget(queue: string): void;
}

export function createBounds(): Bounds {
  /** By queue, then by priority. */
  const known = new Map<string, Map<number, number>>();
  /** When to look at everything again. Each queue's own: looks into another one are no reason to put it off. */
  const wholeAt = new Map<string, number>();

  function update(queue: string, { full, ended, nowUs }: Look): void {
    // It may be empty: the next claim makes sure.
    if (!full || ended.length === 0) return void known.delete(queue);
    const levels = known.get(queue) ?? new Map<number, number>();
    const untilUs = nowUs - marginUs;
    const lowest = Math.min(...ended.map(({ priority }) => priority));
    for (const { priority } of ended) levels.set(priority, untilUs);
    // It went on to a priority when there was no more of those above.
    for (const priority of levels.keys()) if (priority > lowest) levels.set(priority, untilUs);
    for (const { priority, sinceUs } of ended) {
      if (priority === lowest) levels.set(priority, Math.min(sinceUs, untilUs));
    }
    if (levels.size > mostLevels) known.delete(queue);
    else known.set(queue, levels);
  }

  return {
    of(queues) {
      const bounds = new Map<string, readonly Level[]>();
      const now = performance.now();
      for (const queue of queues) {
        const levels = known.get(queue);
        if (!levels || now >= (wholeAt.get(queue) ?? 0)) continue;
        bounds.set(
          queue,
          [...levels].map(([priority, sinceUs]) => ({ priority, sinceUs })),
        );
      }
      return bounds;
    },
    looked(given, looks, tookMs) {
      const nextWholeAt = performance.now() + Math.min(9 * tookMs, longestMs);
      for (const [queue, look] of looks) {
        update(queue, look);
        if (!given.has(queue)) wholeAt.set(queue, nextWholeAt);
      }
    },
    forget: (queue) => void known.delete(queue),
  };
}
