/**
 * When to look into each queue again. Each has its own pause, so that an idle or costly queue does not hold up a busy one.
 */
import { createPause, type Pause } from './pause.js';

/** The first pause after a look that found too little; each further one is twice as long. */
const shortestPollMs = 5;
/** A look that takes longer, and finds too little, is costly: it gets a tenth of the time. */
const costlyMs = 5;
/** The longest pause that the cost of a look leads to, where `pollIntervalMs` is less. */
const longestCostMs = 2_000;

export interface Lanes {
  /** Of the queues with room, those to look into now, each with how much. */
  due(room: ReadonlyMap<string, number>): ReadonlyMap<string, number>;
  /** The ms until one of the queues with room is to be looked into. */
  untilDue(room: ReadonlyMap<string, number>): number;
  isDue(queue: string): boolean;
  /** The last look found too little: the queue was empty. */
  isResting(queue: string): boolean;
  /** Somebody said that there are jobs: ends the pause, also that after a look that is under way. */
  wake(queue: string): void;
  /** A job falls due in so many ms, which this worker is to look for. */
  dueIn(queue: string, ms: number): void;
  /** A look begins. */
  looking(queue: string): void;
  /** Told of what a look into a queue found. */
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

interface Lane {
  dueAt: number;
  /** Not to be looked into before, whoever says that there are jobs. */
  notBefore: number;
  /** When a job falls due that this worker is to look for. */
  promisedAt: number;
  /** Since the last look began. */
  woken: boolean;
  resting: boolean;
  readonly pause: Pause;
}

export function createLanes(queues: Iterable<string>, pollIntervalMs: number): Lanes {
  const lanes = new Map<string, Lane>();
  for (const queue of queues) {
    lanes.set(queue, {
      dueAt: 0,
      notBefore: 0,
      promisedAt: Number.POSITIVE_INFINITY,
      woken: false,
      resting: false,
      pause: createPause(shortestPollMs, pollIntervalMs),
    });
  }

  function dueAt(queue: string): number {
    const lane = lanes.get(queue);
    if (!lane) return 0;
    return Math.max(lane.woken ? 0 : Math.min(lane.dueAt, lane.promisedAt), lane.notBefore);
  }
  const isDue = (queue: string): boolean => dueAt(queue) <= performance.now();

  return {
    due: (room) => new Map([...room].filter(([queue]) => isDue(queue))),
    untilDue(room) {
      const next = Math.min(...[...room.keys()].map(dueAt), performance.now() + pollIntervalMs);
      return Math.max(0, next - performance.now());
    },
    isDue,
    isResting: (queue) => lanes.get(queue)?.resting === true,
    wake(queue) {
      const lane = lanes.get(queue);
      if (lane) lane.woken = true;
    },
    dueIn(queue, ms) {
      const lane = lanes.get(queue);
      if (lane) lane.promisedAt = Math.min(lane.promisedAt, performance.now() + ms);
    },
    looking(queue) {
      const lane = lanes.get(queue);
      if (!lane) return;
      lane.woken = false;
      if (lane.promisedAt <= performance.now()) lane.promisedAt = Number.POSITIVE_INFINITY;
    },
    looked(queue, { some, full, whole, tookMs }) {
      const lane = lanes.get(queue);
      if (!lane) return;
      const now = performance.now();
      if (some) lane.pause.reset();
      // A full look may have left more behind, and one at a part has not seen the rest.
      lane.resting = !full && whole;
      lane.dueAt = lane.resting ? now + lane.pause.next() : 0;
      // A short one may have cost much (rows of kinds nobody serves lie in front), so it gets a tenth of the time; but not
      // of seconds, which a lock or a blocked event loop has taken.
      const costMs = Math.min(9 * tookMs, Math.max(longestCostMs, pollIntervalMs));
      lane.notBefore = lane.resting && tookMs > costlyMs ? now + costMs : 0;
    },
  };
}
