/**
 * When to look into each queue again. Each has its own gaps, so that an idle or costly queue does not hold up a busy one.
 */
import { createGap, type Gap } from './gap.js';

/** The first gap after a look that found jobs, and too few; each further one is twice as long. */
const shortestPollMs = 5;
/** The same after a look for a job that was told of: the next will be told of as well, and a look would be in its way. */
const toldPollMs = 40;
/** A look that takes Postgres longer, and finds too little, is costly: such looks get a tenth of the time. */
const costlyMs = 5;
/** So many in a row: one alone may have waited for its turn on the machine. */
const costlyLooks = 3;
/** Without a job for so long, a queue is quiet: a look may ask when the next falls due. */
const quietMs = 100;
/** The longest gap that the cost of looks leads to. */
const longestCostMs = 2_000;

export interface Lanes {
  /** Of the queues with room, those to look into now, each with how much. */
  due(room: ReadonlyMap<string, number>): ReadonlyMap<string, number>;
  /** The ms until one of the queues with room is to be looked into. */
  untilDue(room: ReadonlyMap<string, number>): number;
  isDue(queue: string): boolean;
  /** The last look found too little: the queue was empty. */
  isResting(queue: string): boolean;
  /**
   * Somebody said that there are jobs, or that there will be: ends the gap, also that after a look that is under way.
   */
  wake(queue: string, what: 'work' | 'later'): void;
  /** A job that is named is all there is to do: the queue was empty at the last look, and nobody said anything since. */
  isQuiet(queue: string): boolean;
  /** A job that was named was there. */
  foundNamed(queue: string): void;
  /** A job falls due in so many ms, which this worker is to look for. */
  dueIn(queue: string, ms: number): void;
  /** A look begins. Says what it is for. */
  looking(queue: string): Purpose;
  /** Told of what a look into a queue found. */
  looked(queue: string, look: QueueLook): void;
  /** Forgets the queue's looks, and is due now. */
  beginAnew(queue: string): void;
}

export interface Purpose {
  /** It is to tell when the next job falls due. Not one for jobs that were told of: that takes longer. */
  readonly due: boolean;
  /** This worker looks for the job that falls due next, whoever else may: it was told of it, or looked for the last one. */
  readonly keeps: boolean;
}

interface QueueLook {
  /** How many jobs; and whether those were as many as there was room for. */
  readonly found: number;
  readonly full: boolean;
  /** It looked at the whole queue. */
  readonly whole: boolean;
  /** The time that Postgres took. */
  readonly tookMs: number;
}

interface Woken {
  work: boolean;
  later: boolean;
}

const notWoken: Readonly<Woken> = { work: false, later: false };

interface Lane {
  dueAt: number;
  /** Not to be looked into before, whoever says that there are jobs. */
  notBefore: number;
  /** When a job falls due that this worker is to look for. */
  promisedAt: number;
  /** The look that is under way is for jobs that were told of. */
  told: boolean;
  /** What was said since the last look began. */
  woken: Woken;
  resting: boolean;
  /** When a look last found a job. */
  foundAt: number;
  /** What the last looks took, of those in a row that found too little. */
  tookMs: readonly number[];
  readonly gap: Gap;
}

export function createLanes(queues: Iterable<string>, pollIntervalMs: number): Lanes {
  const lanes = new Map<string, Lane>();
  for (const queue of queues) lanes.set(queue, newLane(pollIntervalMs));

  function dueAt(queue: string): number {
    const lane = lanes.get(queue);
    if (!lane) return 0;
    const { work, later } = lane.woken;
    return Math.max(work || later ? 0 : Math.min(lane.dueAt, lane.promisedAt), lane.notBefore);
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
    wake(queue, what) {
      const lane = lanes.get(queue);
      if (lane) lane.woken[what] = true;
    },
    isQuiet(queue) {
      const lane = lanes.get(queue);
      return lane?.resting === true && !lane.woken.work && !lane.woken.later;
    },
    foundNamed(queue) {
      const lane = lanes.get(queue);
      if (!lane) return;
      const now = performance.now();
      lane.foundAt = now;
      lane.gap.atMost(toldPollMs);
      // Sooner, and never later: with many such jobs no look would ever be due.
      lane.dueAt = Math.min(lane.dueAt, now + toldPollMs);
    },
    dueIn(queue, ms) {
      const lane = lanes.get(queue);
      if (lane) lane.promisedAt = Math.min(lane.promisedAt, performance.now() + ms);
    },
    looking(queue) {
      const lane = lanes.get(queue);
      if (!lane) return { due: true, keeps: false };
      const { work, later } = lane.woken;
      lane.woken = { ...notWoken };
      lane.told = work;
      const promised = lane.promisedAt <= performance.now();
      if (promised) lane.promisedAt = Number.POSITIVE_INFINITY;
      // Not while jobs are found: it walks the priorities once more, past all that has just been claimed.
      const quiet = !work && performance.now() - lane.foundAt > quietMs;
      return { due: later || promised || quiet, keeps: later || promised };
    },
    looked(queue, { found, full, whole, tookMs }) {
      const lane = lanes.get(queue);
      if (!lane) return;
      const now = performance.now();
      if (found > 0) lane.foundAt = now;
      // More than one: not all are told of.
      if (found === 1 && lane.told) lane.gap.atMost(toldPollMs);
      else if (found > 0) lane.gap.reset();
      // A full look may have left more behind, and one at a part has not seen the rest.
      lane.resting = !full && whole;
      lane.dueAt = lane.resting ? now + lane.gap.next() : 0;
      // Short ones may cost much (rows of kinds nobody serves lie in front), so they get a tenth of the time; but not of
      // seconds, which a lock has taken.
      lane.tookMs = lane.resting ? [...lane.tookMs, tookMs].slice(-costlyLooks) : [];
      const eachMs = lane.tookMs.length === costlyLooks ? Math.min(...lane.tookMs) : 0;
      lane.notBefore = eachMs > costlyMs ? now + Math.min(9 * eachMs, longestCostMs) : 0;
    },
    beginAnew: (queue) => void lanes.set(queue, newLane(pollIntervalMs)),
  };
}

function newLane(pollIntervalMs: number): Lane {
  return {
    dueAt: 0,
    notBefore: 0,
    promisedAt: Number.POSITIVE_INFINITY,
    told: false,
    woken: { ...notWoken },
    resting: false,
    foundAt: Number.NEGATIVE_INFINITY,
    tookMs: [],
    gap: createGap(shortestPollMs, pollIntervalMs, pollIntervalMs),
  };
}
