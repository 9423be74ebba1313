/**
 * Writes how runs ended: batched as they come, one statement in flight, kept in memory while the database is away.
 */
import { isRowFault } from '../database/sqlstate.js';
import type { TableName } from '../database/table-name.js';
import { type Finish, type Finished, finish } from '../sql/finish.js';
import type { Outcome } from '../words/outcome.js';
import { createAlarm } from './alarm.js';
import type { Events } from './events.js';
import type { Run } from './execute.js';
import { createPause, createRetryPause } from './pause.js';
import { reportFinish } from './report.js';
import type { Statements } from './statements.js';

/** The most finishes in one statement. */
const largestFinish = 500;

export interface Finisher {
  /** Takes the end of a run; `settled` hears of it when nothing more will be written. */
  add(run: Run, outcome: Outcome): void;
  /** How many ends are not written yet. */
  size(): number;
  /** Resolves when nothing is left to write. */
  idle(): Promise<void>;
  /** Gives up what cannot be written and sends nothing more; how many ends that are. */
  close(): number;
}

/** An end that is not written yet. */
interface Pending extends Finish {
  readonly run: Run;
  /** It was sent, and the answer was lost: it may have been written. */
  readonly sent: boolean;
}

export function createFinisher(
  statements: Statements,
  table: TableName,
  events: Events,
  settled: (run: Run) => void,
): Finisher {
  let pending: Pending[] = [];
  let inFlight = 0;
  let pumping = false;
  let closed = false;
  /** All that is left are rows that somebody holds: new ends need not wait for them. */
  let onlyBusy = false;
  let whenIdle: (() => void)[] = [];
  const alarm = createAlarm();
  const retryPause = createRetryPause();
  const busyPause = createPause(20, 1_000);

  async function pump(): Promise<void> {
    // Handlers that end in the same turn of the event loop go into the same statement.
    await new Promise((resolve) => setImmediate(resolve));
    while (pending.length > 0 && !closed) {
      const batch = pending.slice(0, largestFinish);
      pending = pending.slice(batch.length);
      inFlight = batch.length;
      const pauseMs = await write(batch);
      inFlight = 0;
      if (pauseMs > 0 && !closed) await alarm.sleep(pauseMs);
      onlyBusy = false;
    }
    pumping = false;
    if (pending.length === 0) {
      for (const resolve of whenIdle) resolve();
      whenIdle = [];
    }
  }

  /** Sends these ends and gives the ms to wait before the next statement. */
  async function write(batch: readonly Pending[]): Promise<number> {
    try {
      const answers = await statements.send((db) => finish(db, table, batch));
      retryPause.reset();
      return settle(batch, answers);
    } catch (error) {
      if (!isRowFault(error)) return later(batch, error);
      const [only] = batch;
      if (batch.length === 1 && only) return refuse(only, error);
      let pauseMs = 0;
      for (const one of batch) pauseMs = Math.max(pauseMs, await write([one]));
      return pauseMs;
    }
  }

  /** One bad end may fail itself, never its batch. */
  function refuse(one: Pending, error: unknown): number {
    const canBeFailed = one.outcome.move !== 'fail';
    events.emit('error', { error, during: 'finish', retryInMs: canBeFailed ? 0 : null });
    // What cannot be written as it is gets written as a failed attempt; what cannot even be that is left to the rescuer.
    if (canBeFailed) pending.push({ ...one, outcome: { move: 'fail', error, delayMs: undefined } });
    else settled(one.run);
    return 0;
  }

  function later(batch: readonly Pending[], error: unknown): number {
    pending = [...batch.map((one) => ({ ...one, sent: true })), ...pending];
    const retryInMs = retryPause.next();
    events.emit('error', { error, during: 'finish', retryInMs });
    return retryInMs;
  }

  function settle(batch: readonly Pending[], answers: readonly Finished[]): number {
    const byClaim = new Map(answers.map((answer) => [`${answer.id} ${answer.lockedBy}`, answer]));
    const busy: Pending[] = [];
    for (const one of batch) {
      const answer = byClaim.get(`${one.id} ${one.lockedBy}`);
      if (answer === undefined || answer.result === 'busy') busy.push(one);
      else {
        settled(one.run);
        reportFinish(events, one.run, one.outcome, answer, one.sent);
      }
    }
    if (busy.length === 0) {
      busyPause.reset();
      return 0;
    }
    onlyBusy = pending.length === 0;
    pending.push(...busy);
    // Rows that a handler's open transaction holds: without a pause this would ask as fast as it can.
    return onlyBusy ? busyPause.next() : 0;
  }

  return {
    add(run, outcome) {
      pending.push({ id: run.job.id, lockedBy: run.job.lockedBy, outcome, run, sent: false });
      if (onlyBusy) alarm.wake();
      if (pumping) return;
      pumping = true;
      void pump();
    },
    size: () => pending.length + inFlight,
    idle() {
      if (!pumping) return Promise.resolve();
      return new Promise((resolve) => whenIdle.push(resolve));
    },
    close() {
      closed = true;
      alarm.wake();
      return pending.length + inFlight;
    },
  };
}
