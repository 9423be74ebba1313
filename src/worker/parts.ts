/**
 * The parts of one worker, put together:
 *
 * - loop: claims jobs into free slots
 * - execute: runs a handler to its outcome
 * - finisher: writes outcomes
 * - upkeep: heartbeats of all runs whose end is not written, then rescue
 */
import type { ClaimedJob } from '../sql/claim.js';
import { QueueError } from '../words/errors.js';
import type { ClaimedId } from '../words/outcome.js';
import type { Events } from './events.js';
import { execute, neverStarted, type Run } from './execute.js';
import { createFinisher, type Finisher } from './finisher.js';
import { createLoop, type Loop } from './loop.js';
import type { Settings } from './options.js';
import { jobInfo } from './report.js';
import { createSlots } from './slots.js';
import { createStatements } from './statements.js';
import { createUpkeep, type Upkeep } from './upkeep.js';

/** Ends that wait to be written, beyond which no more jobs are claimed. */
const mostUnwritten = 2_000;

export interface Parts {
  readonly loop: Loop;
  readonly upkeep: Upkeep;
  readonly finisher: Finisher;
  /** Runs whose handler is at work. */
  readonly running: ReadonlySet<Run>;
}

/** `name` is that of the worker, with which its claims begin. */
export function createParts(settings: Settings, name: string, events: Events): Parts {
  const { table, heartbeatMs, pollIntervalMs } = settings;
  const statements = createStatements(settings.db, {
    statementMs: Math.max(10_000, 2 * heartbeatMs),
    gapMs: 2 * Math.max(heartbeatMs, pollIntervalMs),
  });
  const slots = createSlots(settings.slots);
  const running = new Set<Run>();
  /** Runs whose end is not written yet, by claim. */
  const runs = new Map<string, Run>();

  const finisher = createFinisher(statements, table, events, (run) => {
    runs.delete(keyOf(run.job));
    loop.wake();
  });

  const loop = createLoop(statements, events, {
    table,
    worker: name,
    kinds: [...settings.kinds.keys()],
    pollIntervalMs,
    room: () => (finisher.size() > Math.max(mostUnwritten, slots.total) ? new Map() : slots.room()),
    take: begin,
    giveBack,
  });

  const upkeep = createUpkeep(statements, table, heartbeatMs, events, {
    claims: () => [...runs.values()].map(({ job }) => job),
    lost,
  });

  function begin(job: ClaimedJob): void {
    const kind = settings.kinds.get(job.kind);
    if (!kind) return giveBack(job);
    const run = execute(job, kind, table, (error, during) =>
      events.emit('error', { error, during, retryInMs: null }),
    );
    runs.set(keyOf(job), run);
    running.add(run);
    slots.take(job.queue);
    void run.over.then((outcome) => {
      running.delete(run);
      slots.free(job.queue);
      if (outcome) finisher.add(run, outcome);
      else runs.delete(keyOf(job));
      loop.wake();
    });
  }

  /** A job whose handler does not start. */
  function giveBack(job: ClaimedJob): void {
    const run = neverStarted(job);
    runs.set(keyOf(job), run);
    finisher.add(run, { move: 'release', started: false });
  }

  function lost(claim: ClaimedId): void {
    const run = runs.get(keyOf(claim));
    // A run that is over hears it from its finish; one that is completing may be gone because it is done.
    if (!run || !running.has(run) || run.completing) return;
    const error = new QueueError('JOB_LOST', `Job ${claim.id} is not this run's any more.`, {
      data: { ...claim },
    });
    run.end(error);
    events.emit('lost', { job: jobInfo(run.job), during: 'handler' });
  }

  return { loop, upkeep, finisher, running };
}

function keyOf({ id, lockedBy }: ClaimedId): string {
  return `${id} ${lockedBy}`;
}
