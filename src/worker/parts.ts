/**
 * The parts of one worker, put together:
 *
 * - loop: claims jobs into free slots
 * - execute: runs a handler to its outcome
 * - finisher: writes outcomes
 * - upkeep: heartbeats of all runs whose end is not written, then rescue
 * - session: shows others that this process lives, and looks whether theirs do
 * - schemaCheck: compares the database with what this version needs, once
 */
import { sessionOpener } from '../database/session.js';
import { tableKey } from '../database/table-name.js';
import type { ClaimedJob } from '../sql/claim.js';
import { QueueError } from '../words/errors.js';
import type { ClaimedId } from '../words/outcome.js';
import { beginInTurns } from './begin.js';
import { watchDeaths } from './deaths.js';
import type { Events } from './events.js';
import { execute, neverStarted, type Run } from './execute.js';
import { createFinisher, type Finisher } from './finisher.js';
import { createLoop, type Loop } from './loop.js';
import type { ServedKind, Settings } from './options.js';
import { jobInfo } from './report.js';
import { createSchemaCheck, type SchemaCheck } from './schema-check.js';
import { createSessionKeeper, type SessionKeeper } from './session.js';
import { createSlots } from './slots.js';
import { createStatements } from './statements.js';
import { createUpkeep, type Upkeep } from './upkeep.js';

export interface Parts {
  readonly loop: Loop;
  readonly upkeep: Upkeep;
  readonly finisher: Finisher;
  readonly session: SessionKeeper;
  readonly schemaCheck: SchemaCheck;
  /** Runs whose handler is at work. */
  readonly running: ReadonlySet<Run>;
}

/** `name` is that of the worker, with which its claims begin. */
export function createParts(settings: Settings, name: string, events: Events): Parts {
  const { table, heartbeatMs, pollIntervalMs } = settings;
  const statementMs = Math.max(10_000, 2 * heartbeatMs);
  const statements = createStatements(settings.db, {
    statementMs,
    gapMs: 2 * heartbeatMs, // upkeep sends a statement at every heartbeat
  });
  const slots = createSlots(settings.slots);
  const running = new Set<Run>();
  /** Claims whose end is not written yet, those that have not begun included. */
  const held = new Map<string, ClaimedJob>();
  /** Runs of these, from their begin on. */
  const runs = new Map<string, Run>();
  /** Ends that wait to be written, beyond which no more jobs are claimed. */
  const mostUnwritten = Math.max(2_000, slots.total);
  let backlog = false;
  let stopped = false;

  const finisher = createFinisher(statements, table, events, (run) => {
    forget(run.job);
    if (backlog && finisher.size() <= mostUnwritten) {
      backlog = false;
      claiming.wake();
    }
  });

  const claiming = createLoop(statements, events, {
    table,
    worker: name,
    queues: [...settings.slots.keys()],
    kinds: [...settings.kinds.keys()],
    pollIntervalMs,
    leaseMs: settings.leaseMs,
    room() {
      backlog = finisher.size() > mostUnwritten;
      return backlog ? new Map() : slots.room();
    },
    take,
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
    claims: () => [...held.values()],
    lacking: () => session.lacking(),
    lost,
  });
  const session = createSessionKeeper({
    worker: name,
    group: tableKey(settings.jobs),
    open: sessionOpener(settings.db),
    use: (opened, lock, life) =>
      watchDeaths(opened, lock, { statements, table, events, ...life, rescuing: () => !stopped }),
    lost: () => upkeep.hurry(),
  });
  const schemaCheck = createSchemaCheck(statements, settings.jobs, events);

  function take(jobs: readonly ClaimedJob[]): Promise<void> {
    for (const job of jobs) {
      held.set(keyOf(job), job);
      slots.take(job.queue);
    }
    return beginInTurns(jobs, begin);
  }

  function begin(job: ClaimedJob): void {
    const kind = settings.kinds.get(job.kind);
    if (!held.has(keyOf(job)))
      slots.free(job.queue); // lost before its turn came
    else if (stopped || !kind) {
      slots.free(job.queue);
      finisher.add(neverStarted(job), { move: 'release', started: false });
    } else runJob(job, kind);
  }

  function runJob(job: ClaimedJob, kind: ServedKind): void {
    const run = execute(job, kind, table, (error, during) =>
      events.emit('error', { error, during, retryInMs: null }),
    );
    runs.set(keyOf(job), run);
    running.add(run);
    void run.over.then((outcome) => {
      running.delete(run);
      slots.free(job.queue);
      if (outcome) finisher.add(run, outcome);
      else forget(job);
      claiming.wake(job.queue);
    });
  }

  function forget(job: ClaimedId): void {
    held.delete(keyOf(job));
    runs.delete(keyOf(job));
  }

  /** `gone`: there is no row of that id any more. */
  function lost(claim: ClaimedId, gone: boolean): void {
    const job = held.get(keyOf(claim));
    const run = runs.get(keyOf(claim));
    if (!job) return;
    // A run that is over hears it from its finish; a row that is gone may be the run's own doing.
    if (run && (!running.has(run) || (gone && run.completing))) return;
    const error = new QueueError('JOB_LOST', `Job ${claim.id} is not this run's any more.`, {
      data: { ...claim },
    });
    if (run) run.end(error);
    else forget(claim);
    events.emit('lost', { job: jobInfo(job), during: 'handler' });
  }

  return { loop, upkeep, finisher, session, schemaCheck, running };
}

function keyOf({ id, lockedBy }: ClaimedId): string {
  return `${id} ${lockedBy}`;
}
