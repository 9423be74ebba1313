/**
 * `createWorker`: puts the parts of a worker together and takes them apart again.
 *
 * - loop: claims jobs into free slots
 * - execute: runs a handler to its outcome
 * - finisher: writes outcomes
 * - upkeep: heartbeats of all runs whose end is not written, then rescue
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { watchPool } from '../database/pool-errors.js';
import type { KindsOn } from '../registry/handlers.js';
import type { JobTypes } from '../registry/registry.js';
import type { ClaimedJob } from '../sql/claim.js';
import { wholeNumber } from '../words/checks.js';
import { QueueError } from '../words/errors.js';
import type { ClaimedId } from '../words/outcome.js';
import { createDeadline } from './deadline.js';
import { createEvents, type Events } from './events.js';
import { execute, type Run } from './execute.js';
import { createFinisher } from './finisher.js';
import { logEvents } from './log.js';
import { createLoop } from './loop.js';
import { checkWorkerOptions, type Settings, type WorkerOptions } from './options.js';
import { jobInfo } from './report.js';
import { countSignals } from './signals.js';
import { createSlots } from './slots.js';
import { createStatements } from './statements.js';
import { stopParts } from './stop.js';
import { createUpkeep } from './upkeep.js';

/** Ends that wait to be written, beyond which no more jobs are claimed. */
const mostUnwritten = 2_000;

/** Claims and runs jobs, from a start to a stop; it is not started twice. */
export interface Worker {
  /** The name its claims begin with: host, process and a random part. */
  readonly name: string;
  /** Calls the listener at each such event, until the returned function is called. */
  readonly on: Events['on'];
  /**
   * Begins to work. Does not wait for the database: while that is away, the worker tries again.
   * Rejects with `WORKER_STOPPED` after a stop.
   */
  start(): Promise<void>;
  /**
   * Claims nothing more, lets running jobs end within the grace, then aborts their signals and gives them back.
   * Resolves within the grace and 2 s, whatever the database does. Leaves the app's pool open.
   * A second call gives the same promise; with a shorter grace it shortens the first.
   */
  stop(options?: { readonly graceMs?: number | undefined }): Promise<void>;
  /** Works until SIGTERM or SIGINT, then stops. A second signal ends the grace. */
  run(): Promise<void>;
}

/**
 * Makes a worker for some queues of a registry.
 *
 * @throws QueueError `INVALID_OPTION`, `INVALID_EXECUTOR`, `UNKNOWN_QUEUE`, `UNKNOWN_KIND`, `MISSING_HANDLER`,
 * `UNKNOWN_HANDLER`
 */
export function createWorker<
  Kinds extends JobTypes,
  const Queue extends Kinds[keyof Kinds]['$queue'],
  const Kind extends KindsOn<Kinds, Queue> = KindsOn<Kinds, Queue>,
>(options: WorkerOptions<Kinds, Queue, Kind>): Worker {
  return workerOf(checkWorkerOptions(options));
}

function workerOf(settings: Settings): Worker {
  // The random part: two containers may share host name and process id, and a shared name would void the fence.
  const name = `${hostname().slice(0, 64)}-${process.pid}-${randomBytes(5).toString('hex')}`;
  const { table, heartbeatMs, pollIntervalMs } = settings;
  const events = createEvents();
  if (settings.log) logEvents(events, settings.log);
  const statements = createStatements(settings.db, {
    statementMs: Math.max(10_000, 2 * heartbeatMs),
    gapMs: 2 * Math.max(heartbeatMs, pollIntervalMs),
  });

  const slots = createSlots(settings.slots);
  /** Runs whose end is not written yet, by claim. */
  const runs = new Map<string, Run>();
  /** Runs whose handler is at work. */
  const running = new Set<Run>();

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
    take: (jobs) => {
      for (const job of jobs) begin(job);
    },
  });

  const upkeep = createUpkeep(statements, table, heartbeatMs, events, {
    claims: () => [...runs.values()].map(({ job }) => job),
    lost(claim) {
      const run = runs.get(keyOf(claim));
      // A run that is over hears it from its finish; one that is completing may be gone because it is done.
      if (!run || !running.has(run) || run.completing) return;
      const error = new QueueError('JOB_LOST', `Job ${claim.id} is not this run's any more.`, {
        data: { ...claim },
      });
      run.end(error);
      events.emit('lost', { job: jobInfo(run.job), during: 'handler' });
    },
  });

  function begin(job: ClaimedJob): void {
    const kind = settings.kinds.get(job.kind);
    if (stopped || !kind) {
      giveBack(job);
      return;
    }
    const run = execute(job, kind, table);
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

  /** A job that was claimed while the worker began to stop: its handler does not start. */
  function giveBack(job: ClaimedJob): void {
    const outcome = { move: 'release', started: false } as const;
    const run = {
      job,
      durationMs: 0,
      completing: false,
      abort() {},
      end() {},
      over: Promise.resolve(outcome),
    };
    runs.set(keyOf(job), run);
    finisher.add(run, outcome);
  }

  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  let claimed = Promise.resolve();
  let unwatchPool = (): void => {};
  const grace = createDeadline();

  async function start(): Promise<void> {
    if (stopped) {
      throw new QueueError('WORKER_STOPPED', 'This worker was stopped; make a new one with createWorker(…).');
    }
    started ??= begun();
    return started;
  }

  async function begun(): Promise<void> {
    unwatchPool = watchPool(settings.db, (error) =>
      events.emit('error', { error, during: 'connection', retryInMs: null }),
    );
    events.emit('started', { worker: name });
    claimed = loop.run();
    void upkeep.run();
  }

  function stop({
    graceMs = settings.graceMs,
  }: {
    readonly graceMs?: number | undefined;
  } = {}): Promise<void> {
    try {
      grace.within(wholeNumber('graceMs', graceMs, 0, 3_600_000));
    } catch (error) {
      return Promise.reject(error); // not thrown: who calls stop() awaits it
    }
    stopped ??= ended();
    return stopped;
  }

  async function ended(): Promise<void> {
    if (started) await stopParts({ events, loop, upkeep, finisher, running, claimed }, grace);
    grace.cancel();
    unwatchPool();
  }

  async function run(): Promise<void> {
    const unlisten = countSignals((count) => void stop(count > 1 ? { graceMs: 0 } : {}));
    try {
      await start();
      await new Promise<void>((resolve) => events.on('stopped', () => resolve()));
      await stopped;
    } finally {
      unlisten();
    }
  }

  return Object.freeze({ name, on: events.on, start, stop, run });
}

function keyOf({ id, lockedBy }: ClaimedId): string {
  return `${id} ${lockedBy}`;
}
