/** `runOnce`: one pass of a worker within a budget of time, which leaves nothing behind: no timer, no session. */
import { guardTransactions } from '../database/lost-transactions.js';
import { watchPool } from '../database/pool-errors.js';
import { atMost, createDeadline } from './deadline.js';
import { createEvents, type Events } from './events.js';
import type { Settings } from './options.js';
import { createParts } from './parts.js';
import { createPass, type Pass } from './pass.js';
import { stopParts } from './stop.js';
import type { Upkeep } from './upkeep.js';

/** What {@link Worker.runOnce} takes. */
export interface RunOnceOptions {
  /**
   * Within how many ms it resolves, from 3000 to 3600000: less than the platform's own limit. Its last two seconds are for
   * handlers to react to their signals, and for ends to be written.
   *
   * Jobs of workers that died keep it for some seconds; and where Postgres has just started, which no time counts before, for
   * their `rescueAfterMs`, if that fits.
   * @default 10_000
   */
  readonly budgetMs?: number | undefined;
}

/** What one call of {@link Worker.runOnce} did. */
export interface RunOnceResult {
  readonly completed: number;
  /** Attempts that failed, and are followed by others. */
  readonly failed: number;
  readonly discarded: number;
  readonly snoozed: number;
  /** Given back at the end of the budget. */
  readonly released: number;
  /** Jobs of workers that died, of whatever kind: due again after a pause, or discarded. */
  readonly rescued: number;
  /** Runs whose job was not theirs any more, and whose end counts for nothing. */
  readonly lost: number;
  /** Ends that could not be written in time: those jobs will be rescued. */
  readonly unwritten: number;
  /** Whether due jobs may be left. */
  readonly more: boolean;
}

/** A call that is under way. */
export interface Once {
  readonly result: Promise<RunOnceResult>;
  /** Claims nothing more, and ends within so many ms and 2 s. */
  stop(graceMs: number): void;
}

/** What is kept for the end. */
export const reserveMs = 2_000;
/** Heartbeats come more often than a started worker's: a dead job is rescued three of them after it was found. */
const heartbeats = { shortestMs: 500, longestMs: 2_000 };
/** A rescue is waited for no longer than so many. */
const mostHeartbeats = 6;

/** `name` must be new: claims are counted from 1 under it. */
export function beginOnce(settings: Settings, name: string, events: Events, budgetMs: number): Once {
  const deadline = createDeadline();
  const workMs = budgetMs - reserveMs;
  let endsAt = performance.now() + workMs;
  let stopping = false;
  let foundBy = 0;
  deadline.within(workMs);
  const { own, counts } = counted(events);
  const heartbeatMs = Math.min(
    settings.heartbeatMs,
    Math.min(Math.max(workMs / 4, heartbeats.shortestMs), heartbeats.longestMs),
  );

  /** Not where less is left than a job may take, by those that have run: each start counts as an attempt. */
  function mayClaim(longestMs: number): boolean {
    const leftMs = endsAt - performance.now();
    return !stopping && leftMs >= Math.max(workMs / 10, 2 * longestMs);
  }

  /** Knows in the end by when the first dead job will have been found. */
  async function lookForDead(upkeep: Upkeep): Promise<void> {
    const soonMs = await upkeep.suspect();
    if (soonMs === undefined) return;
    // A database that sleeps between calls has always just started: whoever wakes it is the one to stay.
    const by = performance.now() + soonMs + heartbeatMs;
    if (by + 2 * heartbeatMs < endsAt) foundBy = by;
  }

  async function stayForRescues(upkeep: Upkeep): Promise<void> {
    const rescuedBy = Math.max(performance.now(), foundBy) + mostHeartbeats * heartbeatMs;
    while (!stopping && performance.now() < Math.min(upkeep.suspected() > 0 ? rescuedBy : foundBy, endsAt)) {
      await atMost(heartbeatMs / 4, deadline.passed);
    }
  }

  async function run(): Promise<RunOnceResult> {
    let pass: Pass | undefined;
    const parts = createParts({ ...settings, heartbeatMs }, name, own, (statements, events, options) => {
      pass = createPass(statements, events, options, mayClaim);
      return pass;
    });
    const unwatchPool = watchPool(settings.db, (error) =>
      own.emit('error', { error, during: 'connection', retryInMs: null }),
    );
    const unguardTransactions = guardTransactions(settings.db);
    try {
      const claimed = parts.loop.run();
      void parts.upkeep.run();
      void parts.throttles.run();
      const looked = lookForDead(parts.upkeep).catch(() => {}); // of a database that is away, the claims tell
      await Promise.race([Promise.all([claimed, looked]), deadline.passed]);
      await stayForRescues(parts.upkeep);
      await stopParts(parts, own, claimed, deadline);
    } finally {
      deadline.cancel();
      unwatchPool();
      unguardTransactions();
    }
    const fault = pass?.fault();
    if (fault) throw fault.error;
    return { ...counts, more: pass?.exhausted() !== true || counts.released > 0 };
  }

  const result = run();
  return {
    result,
    stop(graceMs) {
      stopping = true;
      endsAt = Math.min(endsAt, performance.now() + graceMs);
      deadline.within(graceMs);
    },
  };
}

/** Events that also go to the worker's listeners, save those of its start and stop, and are counted. */
function counted(events: Events) {
  const own = createEvents();
  const counts = {
    completed: 0,
    failed: 0,
    discarded: 0,
    snoozed: 0,
    released: 0,
    rescued: 0,
    lost: 0,
    unwritten: 0,
  };
  const isCounted = (name: string): name is keyof typeof counts => Object.hasOwn(counts, name);
  own.on('stopped', ({ unwritten }) => {
    counts.unwritten = unwritten;
  });
  const passedOn: Events = {
    on: own.on,
    heard: () => true,
    emit(name, event) {
      if (isCounted(name)) counts[name]++;
      own.emit(name, event);
      if (name !== 'stopping' && name !== 'stopped') events.emit(name, event);
    },
  };
  return { own: passedOn, counts };
}
