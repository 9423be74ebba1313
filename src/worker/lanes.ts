/**
 * When to look into each queue again. Each has its own pause, so that an idle or costly queue does not hold up a busy one.
 */
import { createPause, type Pause } from './pause.js';

/** The first pause after a look that found too little; each further one is twice as long. */
const shortestPollMs = 10;
/** The longest pause that the cost of a look leads to, where `pollIntervalMs` is less. */
const longestCostMs = 2_000;

export interface Lanes {
  /** Of the queues with room, those to look into now, each with how much. */
  due(room: ReadonlyMap<string, number>): ReadonlyMap<string, number>;
  /** The ms until one of the queues with room is to be looked into. */
  untilDue(room: ReadonlyMap<string, number>): number;
  isDue(queue: string): boolean;
  /** Told what a look into a queue found. */
  looked(queue: string, look: QueueLook): void;
}

interface QueueLook {
  /** Any job, and as many as there was room for. */
  readonly some: boolean;
  readonly full: boolean;
  /** It looked at the whole queue. */
  readonly whole: boolean;
  readonly tookMs: number;
}

export function createLanes(queues: Iterable<string>, pollIntervalMs: number): Lanes {
  const lanes = new Map<string, { dueAt: number; readonly pause: Pause }>();
  for (const queue of queues)
    lanes.set(queue, { dueAt: 0, pause: createPause(shortestPollMs, pollIntervalMs) });
  const dueAt = (queue: string): number => lanes.get(queue)?.dueAt ?? 0;
  const isDue = (queue: string): boolean => dueAt(queue) <= performance.now();

  return {
    due: (room) => new Map([...room].filter(([queue]) => isDue(queue))),
    untilDue(room) {
      const next = Math.min(...[...room.keys()].map(dueAt), performance.now() + pollIntervalMs);
      return Math.max(0, next - performance.now());
    },
    isDue,
    looked(queue, { some, full, whole, tookMs }) {
      const lane = lanes.get(queue);
      if (!lane) return;
      if (some) lane.pause.reset();
      // A full look may have left more behind, and one at a part has not seen the rest. A short one may have cost much
      // (rows of kinds nobody serves lie in front), so it gets a tenth of the time; but not of seconds, which a lock or a
      // blocked event loop has taken.
      const costMs = Math.min(9 * tookMs, Math.max(longestCostMs, pollIntervalMs));
      lane.dueAt = full || !whole ? 0 : performance.now() + Math.max(lane.pause.next(), costMs);
    },
  };
}
