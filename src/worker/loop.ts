/** The worker's loop: claim what there is room for, hand it over, sleep until there is a reason to look again. */
import type { TableName } from '../database/table-name.js';
import { type ClaimedJob, claim, largestClaim } from '../sql/claim.js';
import { releaseClaims } from '../sql/release-claims.js';
import { createAlarm } from './alarm.js';
import type { Events } from './events.js';
import { createPause, createRetryPause } from './pause.js';
import { jobInfo } from './report.js';
import type { Statements } from './statements.js';

/** The first pause after a look that found too little; each further one is twice as long. */
const shortestPollMs = 10;
/** Claims whose answer was lost that are remembered; the rescuer finds the jobs of older ones. */
const mostOrphans = 100;

interface LoopOptions {
  readonly table: TableName;
  /** `<worker>`: claims are `<worker>/<n>`. */
  readonly worker: string;
  readonly kinds: readonly string[];
  readonly pollIntervalMs: number;
  /** How many jobs each queue has room for; empty when there is none, or when the worker should not take more. */
  room(): ReadonlyMap<string, number>;
  /** Takes over a claimed job, which is running under this worker's name now. */
  take(job: ClaimedJob): void;
  /** Takes back a job that was claimed while the loop was being stopped. */
  giveBack(job: ClaimedJob): void;
}

export interface Loop {
  /** Runs until stopped; resolves when the last claim has been answered and taken over. */
  run(): Promise<void>;
  /** There is room again, or something else to look for. */
  wake(): void;
  stop(): void;
}

export function createLoop(statements: Statements, events: Events, options: LoopOptions): Loop {
  const { table, worker, kinds } = options;
  const alarm = createAlarm();
  const idlePause = createPause(shortestPollMs, options.pollIntervalMs);
  const retryPause = createRetryPause();
  let orphans: string[] = [];
  let claims = 0;
  let waitingForRoom = false;
  let stopped = false;

  function orphaned(lockedBy: string): void {
    orphans = [...orphans, lockedBy].slice(-mostOrphans);
  }

  /** Gives back what a lost answer may have claimed; heartbeats do not keep it alive, but this is sooner than a rescue. */
  async function releaseOrphans(): Promise<void> {
    if (orphans.length === 0) return;
    const these = orphans;
    await statements.send((db) => releaseClaims(db, table, these));
    orphans = orphans.filter((orphan) => !these.includes(orphan));
  }

  /** One look for jobs; gives the ms until the next. */
  async function look(want: ReadonlyMap<string, number>): Promise<number> {
    await releaseOrphans();
    const lockedBy = `${worker}/${++claims}`;
    const began = performance.now();
    let jobs: ClaimedJob[];
    try {
      jobs = await statements.send(
        (db) => claim(db, table, { want, kinds, lockedBy }),
        () => orphaned(lockedBy),
      );
    } catch (error) {
      orphaned(lockedBy); // it may have been committed all the same
      throw error;
    }
    const durationMs = performance.now() - began;
    if (jobs.length > 0) {
      events.emit('claimed', { jobs: jobs.map(jobInfo), durationMs });
      for (const job of jobs) (stopped ? options.giveBack : options.take)(job);
      idlePause.reset();
    }
    if (foundAll(want, jobs)) return 0;
    // A look that came back short may have cost much (rows of kinds nobody serves lie in front): it gets a tenth of
    // the time at most.
    return Math.max(idlePause.next(), 9 * durationMs);
  }

  return {
    async run() {
      while (!stopped) {
        const want = options.room();
        if (want.size === 0) {
          waitingForRoom = true;
          await alarm.sleep(options.pollIntervalMs);
          waitingForRoom = false;
          // Handlers that end in the same turn of the event loop make room for one larger claim.
          await new Promise((resolve) => setImmediate(resolve));
          continue;
        }
        let pauseMs: number;
        try {
          pauseMs = await look(want);
          retryPause.reset();
        } catch (error) {
          pauseMs = retryPause.next();
          events.emit('error', { error, during: 'claim', retryInMs: pauseMs });
        }
        if (pauseMs > 0 && !stopped) await alarm.sleep(pauseMs);
      }
      if (orphans.length > 0) await releaseOrphans().catch(() => {}); // the rescuer finds them else
    },
    wake() {
      if (waitingForRoom) alarm.wake();
    },
    stop() {
      stopped = true;
      alarm.wake();
    },
  };
}

/** Whether some queue gave all that was wanted of it, so that there may be more. */
function foundAll(want: ReadonlyMap<string, number>, jobs: readonly ClaimedJob[]): boolean {
  const found = new Map<string, number>();
  for (const { queue } of jobs) found.set(queue, (found.get(queue) ?? 0) + 1);
  return [...want].some(([queue, n]) => (found.get(queue) ?? 0) >= Math.min(n, largestClaim));
}
