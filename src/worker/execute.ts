/**
 * Runs one handler to its outcome: what it returns, throws, records by `job.…`, or fails to do in time.
 *
 * The first of these counts, and a run that is over stays over: later results and late calls change nothing.
 */
import { assertTransaction, mayHaveReconnected, type Transaction } from '../database/executor.js';
import type { TableName } from '../database/table-name.js';
import { type JobContext, settled } from '../registry/handlers.js';
import type { ClaimedJob } from '../sql/claim.js';
import { completeIn, requireOpenTransaction } from '../sql/complete.js';
import { checkKeys } from '../words/checks.js';
import { invalidOption, QueueError } from '../words/errors.js';
import type { Outcome, When } from '../words/outcome.js';
import { checkWhen } from '../words/times.js';
import { Discard, isDiscard } from './discard.js';
import { failed, type OnFault } from './failure.js';
import type { ServedKind } from './options.js';

/** A run of a job, from its claim until its end is written. */
export interface Run {
  readonly job: ClaimedJob;
  readonly durationMs: number;
  /** The row may be deleted by a `complete(tx)`, in a transaction whose commit we do not see. */
  readonly completing: boolean;
  /** Aborts the signal; a handler that throws from now on has this outcome, one that still resolves has its own. */
  abort(reason: QueueError, outcome: Outcome): void;
  /** Ends the run from outside and aborts the signal. Without an outcome nothing will be written. */
  end(reason: QueueError, outcome?: Outcome): void;
  /** Resolves when the run is over. */
  over(): Promise<void>;
}

/** What a run is given besides its job. */
interface Surroundings {
  readonly kind: ServedKind;
  readonly table: TableName;
  readonly onFault: OnFault;
  /** Called once, when the run is over; without an outcome for a run that was lost. */
  readonly onOver: (run: Run, outcome: Outcome | undefined) => void;
}

/** Starts the handler in this tick; what it does at once is not over before the next. */
export function execute(job: ClaimedJob, { kind, table, onFault, onOver }: Surroundings): Run {
  // Made when somebody looks at it: for a short job it costs more than everything else here.
  let controller: AbortController | undefined;
  let abortedFor: QueueError | undefined;
  const startedAt = performance.now();
  /** Calls of `complete(tx)` that are under way; and whether one has deleted the row, in a transaction we do not see. */
  let completes = 0;
  let deleted = false;
  let completedIn: Transaction | undefined;
  let recorded: Outcome | undefined;
  /** The outcome of a handler that throws, once it was told to stop. */
  let whenAborted: Outcome | undefined;
  let ended = false;
  let durationMs = 0;
  let whenOver: (() => void)[] = [];

  function signal(): AbortSignal {
    if (!controller) {
      controller = new AbortController();
      if (abortedFor) controller.abort(abortedFor);
    }
    return controller.signal;
  }

  function abortFor(reason: QueueError): void {
    abortedFor ??= reason;
    controller?.abort(reason);
  }

  function finishWith(outcome: Outcome | undefined): void {
    if (ended) return;
    ended = true;
    durationMs = performance.now() - startedAt;
    clearTimeout(timer);
    onOver(run, outcome);
    for (const resolve of whenOver) resolve();
    whenOver = [];
  }

  function end(reason: QueueError, outcome?: Outcome): void {
    finishWith(outcome && (recorded ?? outcome)); // what the handler has said counts, though it did not return
    abortFor(reason);
  }

  function abort(reason: QueueError, outcome: Outcome): void {
    whenAborted = outcome;
    abortFor(reason);
  }

  function completing(): boolean {
    return completes > 0 || deleted;
  }

  function assertOpen(move: string): void {
    if (!ended && !recorded) return;
    throw new QueueError('JOB_ENDED', `Job ${job.id} has its outcome already; \`${move}\` changes nothing.`, {
      data: { id: job.id, move },
    });
  }

  function record(outcome: Outcome): void {
    assertOpen(outcome.move);
    recorded = outcome;
  }

  async function complete(tx: Transaction): Promise<void> {
    assertTransaction(tx, 'job.complete(tx) ends the job together with your writes.');
    if (ended) throw notOurs(job); // by the time limit, a loss or a stop: these writes must not stand
    assertOpen('complete');
    if (tx === completedIn) {
      throw new QueueError('JOB_ENDED', `Job ${job.id} is completed in this transaction already.`, {
        data: { id: job.id, move: 'complete' },
      });
    }
    // Not the outcome yet: a transaction that is rolled back may be tried again, with another tx, and complete as well.
    completedIn = tx;
    completes++;
    try {
      // One round trip more, and only there: a job that ends outside of its transaction has lost its writes.
      if (mayHaveReconnected(tx)) await requireOpenTransaction(tx);
      const done = await completeIn(tx, table, job);
      if (done) deleted = true;
      if (done && !ended) return;
    } finally {
      completes--;
    }
    throw notOurs(job);
  }

  const timer =
    kind.timeoutMs === Number.POSITIVE_INFINITY
      ? undefined
      : setTimeout(() => {
          const message = `The handler took longer than ${kind.timeoutMs} ms.`;
          const data = { id: job.id, timeoutMs: kind.timeoutMs };
          const error = new QueueError('HANDLER_TIMEOUT', message, { data });
          end(error, failed(error, job, kind, onFault));
        }, kind.timeoutMs);

  const context: JobContext<string, unknown> = {
    id: job.id,
    kind: job.kind,
    queue: job.queue,
    attempt: job.attempt,
    maxAttempts: job.maxAttempts,
    lockedBy: job.lockedBy,
    get signal() {
      return signal();
    },
    snooze(when) {
      record({ move: 'snooze', when: whenOf(when) });
      return settled;
    },
    discard(reason) {
      record({ move: 'discard', error: new Discard(String(reason)) });
      return settled;
    },
    async complete(tx) {
      await complete(tx);
      return settled;
    },
  };

  const run: Run = {
    job,
    abort,
    end,
    over: () => (ended ? Promise.resolve() : new Promise((resolve) => whenOver.push(resolve))),
    get durationMs() {
      return durationMs;
    },
    get completing() {
      return completing();
    },
  };
  handled(kind, job, context).then(
    () =>
      finishWith(
        recorded ?? (completing() ? failed(rolledBack(job), job, kind, onFault) : { move: 'complete' }),
      ),
    (error: unknown) => {
      if (recorded && !ended && !abortedFor) onFault(error, 'handler');
      const stopped = isDiscard(error) ? undefined : whenAborted;
      finishWith(recorded ?? stopped ?? failed(error, job, kind, onFault));
    },
  );

  return run;
}

/** What the handler answers, as a promise, also where it throws at once. */
function handled({ handler }: ServedKind, { payload }: ClaimedJob, context: JobContext<string, unknown>) {
  try {
    return Promise.resolve(handler(payload, context));
  } catch (error) {
    return Promise.reject(error);
  }
}

function notOurs({ id }: ClaimedJob): QueueError {
  const message = `Job ${id} is not this run's any more; its transaction must roll back.`;
  return new QueueError('JOB_LOST', message, { data: { id } });
}

/** What is left of a run when its outcome is written. */
export type EndedRun = Pick<Run, 'job' | 'durationMs' | 'completing'>;

/** The run of a job that goes back as it came. */
export function neverStarted(job: ClaimedJob): EndedRun {
  return { job, durationMs: 0, completing: false };
}

/**
 * After `complete(tx)` the row is gone if the transaction was committed, and then nothing can be written any more.
 * This error is for the row that is still there: the transaction was rolled back, and the attempt has failed.
 */
function rolledBack(job: ClaimedJob): QueueError {
  return new QueueError(
    'JOB_ROLLED_BACK',
    `Job ${job.id} was completed in a transaction that was rolled back, though its handler resolved.`,
    { data: { id: job.id } },
  );
}

function whenOf(given: { readonly delayMs?: number; readonly runAt?: Date | string }): When {
  const isObject = typeof given === 'object' && given !== null;
  if (isObject) checkKeys('snooze(…)', given, ['delayMs', 'runAt']);
  const when = isObject ? checkWhen(given) : undefined;
  if (!when) throw invalidOption('snooze(…)', '{ delayMs } or { runAt }', given);
  return when;
}
