/**
 * The parts of one worker, put together:
 *
 * - loop: claims jobs into free slots
 * - execute: runs a handler to its outcome
 * - finisher: writes outcomes
 * - upkeep: heartbeats of all runs whose end is not written, then rescue
 * - listening: is told of new jobs, shows others that this process lives, and looks whether theirs do
 * - schemaCheck: compares the database with what this version needs, once
 * - paused: knows what is not to be claimed
 * - throttles: deletes what is over of those
 */
import type { ClaimedJob } from '../sql/claim.js';
import { QueueError } from '../words/errors.js';
import type { Outcome } from '../words/outcome.js';
import { beginInTurns } from './begin.js';
import { endingIn } from './end-in.js';
import type { Events } from './events.js';
import { execute, neverStarted, type Run } from './execute.js';
import { createFinisher, type Finisher, type NextRun } from './finisher.js';
import { createListening, type Listening } from './listening.js';
import { createLoop, type Loop } from './loop.js';
import type { ServedKind, Settings } from './options.js';
import { createPaused, type Paused } from './paused.js';
import { jobInfo } from './report.js';
import { createSchemaCheck, type SchemaCheck } from './schema-check.js';
import { createSlots } from './slots.js';
import { createStatements } from './statements.js';
import { createThrottles, type Throttles } from './throttles.js';
import { createUpkeep, type Upkeep } from './upkeep.js';

export interface Parts {
  readonly loop: Loop;
  readonly upkeep: Upkeep;
  readonly finisher: Finisher;
  readonly listening: Listening;
  readonly paused: Paused;
  readonly schemaCheck: SchemaCheck;
  readonly throttles: Throttles;
  /** Runs whose handler is at work. */
  readonly running: ReadonlySet<Run>;
}

/** `name` is that of the worker, with which its claims begin; `makeLoop` what makes its loop. */
export function createParts(
  settings: Settings,
  name: string,
  events: Events,
  makeLoop: typeof createLoop = createLoop,
): Parts {
  const { table, heartbeatMs, pollIntervalMs } = settings;
  const statementMs = Math.max(10_000, 2 * heartbeatMs);
  const statements = createStatements(settings.db, {
    statementMs,
    gapMs: 2 * heartbeatMs, // upkeep sends a statement at every heartbeat
  });
  const paused = createPaused(statements, settings, events, (queue) => claiming.resumed(queue));
  const slots = createSlots(settings.slots, paused.holds);
  const endIn = endingIn(table);
  const running = new Set<Run>();
  /** Jobs whose end is not written yet, each with its run from its begin on. By object: the same job may be here twice. */
  const held = new Map<ClaimedJob, Run | undefined>();
  /** Ends that wait to be written, beyond which no more jobs are claimed. */
  const mostUnwritten = Math.max(2_000, slots.total);
  let backlog = false;
  let stopped = false;
  let begun = Promise.resolve();

  const finisher = createFinisher(statements, table, events, (run, next) => {
    held.delete(run.job);
    if (next) fallsDue(next);
    if (backlog && finisher.size() <= mostUnwritten) {
      backlog = false;
      claiming.wake();
    }
  });

  /** A job on a queue of others is there since an enqueue with `again` has moved it: they have not heard of it. */
  function fallsDue({ queue, dueInMs }: NextRun): void {
    if (!settings.slots.has(queue)) listening.fallsDue(queue);
    else if (dueInMs <= pollIntervalMs) claiming.dueIn(queue, dueInMs);
  }

  const claiming = makeLoop(statements, events, {
    table,
    worker: name,
    queues: [...settings.slots.keys()],
    served: paused.served,
    isReady: paused.isKnown,
    ready: paused.known,
    pollIntervalMs,
    leaseMs: settings.leaseMs,
    slots: slots.total,
    room() {
      backlog = finisher.size() > mostUnwritten;
      return backlog ? new Map() : slots.room();
    },
    hold(queue) {
      slots.take(queue);
      return () => slots.free(queue);
    },
    busy: () => running.size > 0 || finisher.size() > 0,
    take,
    more: (queue) => listening.passOn(queue),
    isMeant: (queue, dueUs) => listening.isMeant(queue, dueUs),
  });
  const loop: Loop = {
    ...claiming,
    stop() {
      stopped = true;
      claiming.stop();
    },
  };

  const heartbeatLimitMs = Math.min(statementMs, settings.heartbeatLimitMs);
  const upkeep = createUpkeep(statements, table, heartbeatMs, heartbeatLimitMs, events, {
    claims: () => [...held.keys()],
    lacking: () => listening.lacking(),
    lost,
  });
  const listening = createListening({
    settings,
    worker: name,
    statements,
    events,
    hasRoom: (queue) => slots.room().has(queue),
    look: claiming.look,
    lookFor: claiming.lookFor,
    changed: upkeep.changed,
    paused,
    lost: upkeep.hurry,
    rescuing: () => !stopped,
  });
  events.on('rescued', ({ queue, state }) => {
    if (state === 'available') listening.fallsDue(queue);
  });
  const schemaCheck = createSchemaCheck(statements, settings.tables, events);
  const throttles = createThrottles(statements, settings.tables.jobThrottle, events);

  function take(jobs: readonly ClaimedJob[]): Promise<void> {
    for (const job of jobs) {
      held.set(job, undefined);
      slots.take(job.queue);
    }
    begun = begun.then(() => beginInTurns(jobs, begin));
    return begun;
  }

  function begin(job: ClaimedJob): void {
    const kind = settings.kinds.get(job.kind);
    if (!held.has(job))
      slots.free(job.queue); // lost before its turn came
    else if (stopped || !kind) {
      slots.free(job.queue);
      finisher.add(neverStarted(job), { move: 'release', started: false });
    } else runJob(job, kind);
  }

  function runJob(job: ClaimedJob, kind: ServedKind): void {
    const run = execute(job, { kind, endIn, onFault, onOver });
    held.set(job, run);
    running.add(run);
  }

  function onFault(error: unknown, during: 'handler' | 'retry'): void {
    events.emit('error', { error, during, retryInMs: null });
  }

  function onOver(run: Run, outcome: Outcome | undefined): void {
    running.delete(run);
    slots.free(run.job.queue);
    if (outcome) finisher.add(run, outcome);
    else held.delete(run.job);
    claiming.wake(run.job.queue, run.durationMs);
  }

  /** `gone`: there is no row of that id any more, or it is completed. */
  function lost(job: ClaimedJob, gone: boolean): void {
    if (!held.has(job)) return;
    const run = held.get(job);
    // A run that is over hears it from its finish; a job that is gone, or begins anew, may be the run's own doing.
    if (run && (!running.has(run) || (gone ? run.completing : run.anewOn !== undefined))) return;
    const { id, lockedBy } = job;
    const error = new QueueError('JOB_LOST', `Job ${id} is not this run's any more.`, {
      data: { id, lockedBy },
    });
    if (run) run.end(error);
    else held.delete(job);
    events.emit('lost', { job: jobInfo(job), during: 'handler' });
  }

  return { loop, upkeep, finisher, listening, paused, schemaCheck, throttles, running };
}
