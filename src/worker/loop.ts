/** The worker's loop: claim what there is room for, hand it over, sleep until there is a reason to look again. */
import type { TableName } from '../database/table-name.js';
import type { ClaimedJob } from '../sql/claim.js';
import { type Level, largestClaim, type Served } from '../sql/claim-next.js';
import { createAlarm } from './alarm.js';
import { createBatchSize } from './batch-size.js';
import { createBounds } from './bounds.js';
import { createClaims, type Taken } from './claims.js';
import type { Events } from './events.js';
import { createRetryGap } from './gap.js';
import { createLanes } from './lanes.js';
import { createNamedClaims } from './named-claims.js';
import { createOrphans } from './orphans.js';
import { jobInfo } from './report.js';
import type { Statements } from './statements.js';

export interface LoopOptions {
  readonly table: TableName;
  /** `<worker>`: claims are `<worker>/<n>`. */
  readonly worker: string;
  readonly queues: readonly string[];
  /** The kinds to claim now, each with the newest version of its payloads. */
  served(): Served;
  /** Whether it may claim; and what to wait for until then. */
  isReady(): boolean;
  ready(): Promise<void>;
  readonly pollIntervalMs: number;
  /** For how long a claim is sure to be ours without a heartbeat. */
  readonly leaseMs: number;
  /** How many jobs each queue has room for; empty when there is none, or when the worker should not take more. */
  room(): ReadonlyMap<string, number>;
  /** Keeps a slot of the queue, until what it gives is called. */
  hold(queue: string): () => void;
  /** Whether a handler is at work, or an end is not written yet. */
  busy(): boolean;
  /** All slots of all queues. */
  readonly slots: number;
  /**
   * Takes over claimed jobs, which are running under this worker's name now and have their slots at once; resolves when
   * they, and those taken before, have begun.
   */
  take(jobs: readonly ClaimedJob[]): Promise<void>;
  /** A look took all it had room for, after a gap: there may be more for others. */
  more(queue: string): void;
  /** Whether this worker looks for the job that falls due at this time, in microseconds since 1970. */
  isMeant(queue: string, dueUs: number): boolean;
}

export interface Loop {
  /** Runs until stopped; resolves when the last claim has been answered and taken over. */
  run(): Promise<void>;
  /** There is room again, in this queue or in all; after a handler that took so long. */
  wake(queue?: string, tookMs?: number): void;
  /** There may be jobs, in this queue or in all; or `later`, which a look tells. */
  look(queue: string | undefined, what: 'work' | 'later'): void;
  /** There is this job in the queue. */
  lookFor(queue: string, id: number): void;
  /** A job of this queue falls due in so many ms. */
  dueIn(queue: string, ms: number): void;
  /** Jobs of this queue, or of all, may be claimed again that could not be before. */
  resumed(queue: string | undefined): void;
  stop(): void;
}

export function createLoop(statements: Statements, events: Events, options: LoopOptions): Loop {
  const { table, worker, served, pollIntervalMs } = options;
  const alarm = createAlarm();
  const lanes = createLanes(options.queues, pollIntervalMs);
  const retryGap = createRetryGap();
  const batchSize = createBatchSize(largestClaim);
  const bounds = createBounds();
  const orphans = createOrphans(statements, table);
  const claims = createClaims(statements, events, { table, worker, served, orphaned: orphans.add });
  const named = createNamedClaims({
    take: claims.takeTold,
    hold: options.hold,
    found(job, tookMs) {
      lanes.foundNamed(job.queue);
      begin([job], tookMs);
    },
    // Whoever was faster has it; else a look tells why it was not to be had.
    missed: (queue, why) => (why === 'gone' ? alarm.wake() : wake(queue, 'work')),
    failed(queue, error) {
      failed(error);
      wake(queue, 'later'); // it may be there still
    },
  });
  let retryAt = 0;
  let stopped = false;
  /** The next look is for jobs that were told of. */
  let told = false;
  /** Queues of which all that is known is to be forgotten, once no look is under way. */
  const resumed = new Set<string>();
  /** Claims whose jobs have not all begun, and when they will have. */
  let beginning = 0;
  let begun = Promise.resolve();

  /** One look for jobs, in the queues that are due. */
  async function look(room: ReadonlyMap<string, number>): Promise<void> {
    await orphans.release();
    const want = new Map([...room].map(([queue, n]) => [queue, Math.min(n, batchSize.now())]));
    const levels = bounds.of(want.keys());
    const began = performance.now();
    const purposes = new Map([...want.keys()].map((queue) => [queue, lanes.looking(queue)]));
    const due = [...purposes.values()].some((purpose) => purpose.due);
    let taken: Taken;
    try {
      taken = await claims.take(want, levels, due);
    } catch (error) {
      batchSize.failed(error);
      for (const queue of want.keys()) lanes.wake(queue, 'later'); // what it was told of may be there still
      throw error;
    }
    const tookMs = performance.now() - began;
    batchSize.succeeded();
    const { jobs } = taken;
    lookedInto(want, levels, taken);
    for (const [queue, atUs] of taken.dueUs) {
      if (purposes.get(queue)?.keeps || options.isMeant(queue, atUs)) {
        lanes.dueIn(queue, (atUs - taken.nowUs) / 1_000);
      }
    }
    begin(jobs, tookMs);
  }

  /** Hands over what was claimed. */
  function begin(jobs: readonly ClaimedJob[], tookMs: number): void {
    if (jobs.length === 0) return;
    // Nobody runs them after a stop. And while a process stood still for so long, others may have begun them.
    if (stopped || tookMs > options.leaseMs) {
      for (const lockedBy of new Set(jobs.map((job) => job.lockedBy))) orphans.add(lockedBy);
      return;
    }
    if (events.heard('claimed')) events.emit('claimed', { jobs: jobs.map(jobInfo), durationMs: tookMs });
    beginning++;
    begun = options.take(jobs).then(() => {
      beginning--;
      alarm.wake();
    });
  }

  /** While the jobs of a large claim begin, there is no look for less than half of the slots: many small claims cost more. */
  function room(): ReadonlyMap<string, number> {
    const free = options.room();
    if (beginning === 0) return free;
    const total = [...free.values()].reduce((sum, n) => sum + n, 0);
    return total >= options.slots / 2 ? free : new Map();
  }

  /** Says when to look again, and from where on. */
  function lookedInto(
    want: ReadonlyMap<string, number>,
    levels: ReadonlyMap<string, readonly Level[]>,
    { jobs, ended, nowUs, tookMs }: Taken,
  ): void {
    const found = new Map<string, number>();
    for (const { queue } of jobs) found.set(queue, (found.get(queue) ?? 0) + 1);
    const looks = new Map(
      [...want].map(([queue, wanted]) => {
        const full = (found.get(queue) ?? 0) >= wanted;
        return [queue, { full, ended: ended.filter((level) => level.queue === queue), nowUs }] as const;
      }),
    );
    bounds.looked(levels, looks, tookMs);
    for (const [queue, { full }] of looks) {
      if (full && lanes.isResting(queue)) options.more(queue);
      lanes.looked(queue, { full, found: found.get(queue) ?? 0, whole: !levels.has(queue), tookMs });
    }
  }

  /** Jobs may lie before the bounds, and looks may have been costly for the sake of jobs that are claimed again. */
  function beginAnew(): void {
    for (const queue of resumed) {
      bounds.forget(queue);
      lanes.beginAnew(queue);
    }
    resumed.clear();
  }

  async function lookAgainOrRest(): Promise<void> {
    beginAnew();
    const free = room();
    const due = lanes.due(free);
    // Jobs that end wake the loop; after a failure that is no reason to ask before the gap after it is over.
    const waitMs = Math.max(retryAt - performance.now(), due.size === 0 ? lanes.untilDue(free) : 0);
    if (due.size === 0 || waitMs > 0) {
      await alarm.sleep(waitMs);
      // Handlers that end in the same turn of the event loop make room for one larger claim.
      if (!told) await new Promise((resolve) => setImmediate(resolve));
      told = false;
      return;
    }
    try {
      if (!options.isReady()) return await options.ready(); // and see anew what is due
      await look(due);
      retryGap.reset();
    } catch (error) {
      failed(error);
    }
  }

  function failed(error: unknown): void {
    const retryInMs = retryGap.next();
    retryAt = performance.now() + retryInMs;
    events.emit('error', { error, during: 'claim', retryInMs });
  }

  function wake(queue: string | undefined, what: 'work' | 'later'): void {
    for (const each of queue === undefined ? options.queues : [queue]) lanes.wake(each, what);
    told = true;
    alarm.wake();
  }

  return {
    async run() {
      while (!stopped) await lookAgainOrRest();
      await named.answered();
      await begun;
      await orphans.release().catch(() => {}); // the rescuer finds them else
    },
    wake(queue) {
      if (queue === undefined || lanes.isDue(queue)) alarm.wake();
    },
    look: wake,
    lookFor(queue, id) {
      const isRested = !stopped && retryAt <= performance.now() && lanes.isQuiet(queue);
      const mayClaim = isRested && options.isReady() && room().has(queue);
      if (!mayClaim || !named.claim(queue, id)) wake(queue, 'work');
    },
    dueIn(queue, ms) {
      lanes.dueIn(queue, ms);
      alarm.wake();
    },
    resumed(queue) {
      for (const each of queue === undefined ? options.queues : [queue]) resumed.add(each);
      alarm.wake();
    },
    stop() {
      stopped = true;
      alarm.wake();
    },
  };
}
