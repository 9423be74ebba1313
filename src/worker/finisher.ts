/**
 * Writes how runs ended: batched as they come, one statement in flight, kept in memory while the database is away.
 */
import { isPassing, isRowFault } from '../database/sqlstate.js';
import type { TableName } from '../database/table-name.js';
import type { Finished } from '../sql/finished.js';
import { withoutQuery } from '../words/error-text.js';
import { QueueError } from '../words/errors.js';
import type { Outcome } from '../words/outcome.js';
import { createAlarm } from './alarm.js';
import { createBatchSize } from './batch-size.js';
import type { Events } from './events.js';
import type { EndedRun } from './execute.js';
import { createRetryGap } from './gap.js';
import { reportFinish } from './report.js';
import type { Statements } from './statements.js';
import { type End, type Write, writesOf } from './writes.js';

/** The most finishes in one statement. */
const largestFinish = 500;
/**
 * The gaps of an end whose row somebody holds, each twice the last. A claim of another worker holds it for a moment, when
 * it had seen the row before this worker claimed it; a handler's open transaction holds it until that ends.
 */
const busyMs = { shortest: 5, longest: 1_000 };

export interface Finisher {
  /** Takes the end of a run; `settled` hears of it when nothing more will be written, and of when it runs again. */
  add(run: EndedRun, outcome: Outcome): void;
  /** How many ends are not written yet. */
  size(): number;
  /** Resolves when nothing is left to write. */
  idle(): Promise<void>;
  /** Ends the gap after a failure: there may be little time left. */
  hurry(): void;
  /** Gives up what cannot be written and sends nothing more; how many ends that are. */
  close(): number;
}

/** When a job runs again, and on which queue: an enqueue with `again` may have moved it. */
export interface NextRun {
  readonly queue: string;
  readonly dueInMs: number;
}

/** An end that is not written yet. */
interface Pending extends End {
  readonly run: EndedRun;
  /** It was sent, and the answer was lost: it may have been written. */
  readonly sent: boolean;
  /** How long it waited after somebody held its row; 0 before. */
  readonly pausedMs: number;
  /** The job is to run once more, so its row is kept. */
  readonly again: boolean;
}

/** An end whose row somebody holds. */
interface Busy extends Pending {
  readonly dueAt: number;
}

export function createFinisher(
  statements: Statements,
  table: TableName,
  events: Events,
  settled: (run: EndedRun, next: NextRun | undefined) => void,
): Finisher {
  let pending: Pending[] = [];
  /** Apart, so that the others do not wait with them. */
  let busy: Busy[] = [];
  let retryAt = 0;
  let inFlight = 0;
  let pumping = false;
  let closed = false;
  let whenIdle: (() => void)[] = [];
  const alarm = createAlarm();
  const retryGap = createRetryGap();
  const batchSize = createBatchSize(largestFinish);

  async function pump(): Promise<void> {
    // Handlers that end in the same turn of the event loop go into the same statement.
    await new Promise((resolve) => setImmediate(resolve));
    while (!closed && pending.length + busy.length > 0) {
      const waitMs = untilNextStatement();
      if (waitMs > 0) {
        await alarm.sleep(waitMs); // ended early by new ends, which may not have to wait
        continue;
      }
      const batch = nextBatch();
      inFlight = batch.length;
      await write(batch);
      inFlight = 0;
    }
    pumping = false;
    if (pending.length + busy.length > 0) return;
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  }

  function untilNextStatement(): number {
    const dueAt = pending.length > 0 ? 0 : Math.min(...busy.map((one) => one.dueAt));
    return Math.max(retryAt, dueAt) - performance.now();
  }

  /** What was busy, when its gap is over, and what is new. */
  function nextBatch(): readonly Pending[] {
    const now = performance.now();
    const again: Busy[] = [];
    const notYet: Busy[] = [];
    for (const one of busy) (one.dueAt <= now && again.length < batchSize.now() ? again : notYet).push(one);
    busy = notYet;
    const fresh = pending.slice(0, batchSize.now() - again.length);
    pending = pending.slice(fresh.length);
    return [...again, ...fresh];
  }

  async function write(batch: readonly Pending[]): Promise<void> {
    const writes = writesOf(batch);
    for (const [at, { ends, send }] of writes.entries()) {
      const reached = await writeWith(send, ends);
      inFlight -= ends.length;
      if (reached) continue;
      pending = [...writes.slice(at + 1).flatMap((write) => write.ends), ...pending];
      return;
    }
  }

  /** False when the database was not to be reached: then nothing else need be tried now. */
  async function writeWith(send: Write<Pending>['send'], batch: readonly Pending[]): Promise<boolean> {
    try {
      const answers = await statements.send((db) => send(db, table, batch));
      retryGap.reset();
      batchSize.succeeded();
      settle(batch, answers);
      return true;
    } catch (error) {
      const [only] = batch;
      if (!isRowFault(error)) later(batch, error);
      else if (batch.length === 1 && only) refuse(only, error);
      else {
        // One bad end may fail itself, never its batch: the halves without it go through.
        const middle = Math.ceil(batch.length / 2);
        await writeWith(send, batch.slice(0, middle));
        await writeWith(send, batch.slice(middle));
      }
      return !isPassing(error);
    }
  }

  function refuse(one: Pending, error: unknown): void {
    const canBeFailed = one.outcome.move !== 'fail';
    events.emit('error', { error, during: 'finish', retryInMs: canBeFailed ? 0 : null });
    // What cannot be written as it is gets written as a failed attempt; what cannot even be that is left to the rescuer.
    // Without the query: in it is what could not be written.
    const fails: Outcome = { move: 'fail', error: withoutQuery(error), delayMs: undefined };
    if (canBeFailed) pending.push({ ...one, outcome: fails });
    else settled(one.run, undefined);
  }

  function later(batch: readonly Pending[], error: unknown): void {
    batchSize.failed(error);
    pending = [...batch.map((one) => ({ ...one, sent: true })), ...pending];
    const retryInMs = retryGap.next();
    retryAt = performance.now() + retryInMs;
    events.emit('error', { error, during: 'finish', retryInMs });
  }

  function settle(batch: readonly Pending[], answers: readonly Finished[]): void {
    batch.forEach((one, at) => {
      const answer = answers[at];
      if (answer === undefined || answer.result === 'busy') putOff(one);
      else if (answer.result === 'refused') refuse(one, changeRefused(one));
      else if (answer.result === 'again') pending.push({ ...one, again: true });
      else {
        settled(one.run, nextRun(one.run, answer));
        reportFinish(events, one.run, one.outcome, answer, one.sent);
      }
    });
  }

  function putOff(one: Pending): void {
    const pausedMs = Math.min(Math.max(2 * one.pausedMs, busyMs.shortest), busyMs.longest);
    busy.push({ ...one, pausedMs, dueAt: performance.now() + pausedMs });
  }

  return {
    add(run, outcome) {
      const { id, lockedBy } = run.job;
      pending.push({ id, lockedBy, outcome, run, sent: false, pausedMs: 0, again: false });
      if (pumping) return alarm.wake();
      pumping = true;
      void pump();
    },
    size: () => pending.length + busy.length + inFlight,
    idle() {
      if (!pumping) return Promise.resolve();
      return new Promise((resolve) => whenIdle.push(resolve));
    },
    hurry() {
      retryAt = 0;
      alarm.wake();
    },
    close() {
      closed = true;
      alarm.wake();
      return pending.length + busy.length + inFlight;
    },
  };
}

function nextRun({ job, anewOn }: EndedRun, { result, dueInMs, queue }: Finished): NextRun | undefined {
  if (dueInMs !== null) return { queue: queue ?? job.queue, dueInMs };
  // Due since its transaction has committed.
  return result === 'lost' && anewOn !== undefined ? { queue: anewOn, dueInMs: 0 } : undefined;
}

function changeRefused({ id, outcome, again }: Pending): QueueError {
  const command = outcome.move === 'complete' && !outcome.kept && !again ? 'delete' : 'update';
  return new QueueError(
    'CHANGE_REFUSED',
    `Postgres did not ${command} job ${id} and gave no reason. Give the worker's role a policy for ${command} ` +
      'where the table has row-level security; or a trigger of the app returned null.',
    { data: { ids: [id], command } },
  );
}
