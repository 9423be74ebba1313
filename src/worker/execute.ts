/**
 * Runs one handler to its outcome: what it returns, throws, records by `job.…`, or fails to do in time.
 *
 * The first of these counts, and a run that is over stays over: later results and late calls change nothing.
 */
import type { Transaction } from '../database/executor.js';
import { resultText } from '../registry/payload.js';
import { upToDate } from '../registry/upgrades.js';
import type { ClaimedJob } from '../sql/claim.js';
import { QueueError } from '../words/errors.js';
import type { Kept, Outcome } from '../words/outcome.js';
import { createContext } from './context.js';
import { isDiscard } from './discard.js';
import type { Ended, EndIn } from './end-in.js';
import { failed, type OnFault } from './failure.js';
import type { ServedKind } from './options.js';
import { completedTwice, hasOutcome, notOurs, rolledBack } from './run-errors.js';

/** What a run is given besides its job. */
export interface Surroundings {
  readonly kind: ServedKind;
  /** What `complete(tx)` does to the row. */
  readonly endIn: EndIn;
  readonly onFault: OnFault;
  /** Called once, when the run is over; without an outcome for a run that was lost. */
  readonly onOver: (run: Run, outcome: Outcome | undefined) => void;
}

/** Starts the handler in this tick; what it does at once is not over before the next. */
export function execute(job: ClaimedJob, around: Surroundings): Run {
  const run = new Run(job, around);
  run.start();
  return run;
}

/**
 * A run of a job, from its claim until its end is written. A class, because there is one for each job: as closures, it was
 * most of what a worker allocates.
 */
export class Run {
  readonly job: ClaimedJob;
  readonly #around: Surroundings;
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #payload: unknown;
  #hasPayload = false;
  /** Made when somebody looks at the signal: for a short job it costs more than everything else here. */
  #controller: AbortController | undefined;
  #abortedFor: QueueError | undefined;
  /** Calls of `complete(tx)` that are under way; and what one has made of the row, in a transaction we do not see. */
  #completes = 0;
  #made: Ended | undefined;
  #completedIn: Transaction | undefined;
  #recorded: Outcome | undefined;
  /** The outcome of a handler that throws, once it was told to stop. */
  #whenAborted: Outcome | undefined;
  #ended = false;
  #durationMs = 0;
  #whenOver: (() => void)[] | undefined;

  constructor(job: ClaimedJob, around: Surroundings) {
    this.job = job;
    this.#around = around;
  }

  get kind(): string {
    return this.#around.kind.name;
  }

  get #timeoutMs(): number {
    return this.job.timeoutMs ?? this.#around.kind.timeoutMs;
  }

  get durationMs(): number {
    return this.#durationMs;
  }

  /** The job may be ended by a `complete(tx)`, in a transaction whose commit we do not see. */
  get completing(): boolean {
    return this.#completes > 0 || this.#made !== undefined;
  }

  /**
   * On which queue the job may have begun anew by a `complete(tx)`, for it was to run once more: then its row is there, and
   * not ours.
   */
  get anewOn(): string | undefined {
    return this.#made?.anewOn;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#abortedFor) this.#controller.abort(this.#abortedFor);
    }
    return this.#controller.signal;
  }

  /** Resolves when the run is over. */
  over(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenOver = [...(this.#whenOver ?? []), resolve];
    });
  }

  start(): void {
    const { kind } = this.#around;
    if (this.#timeoutMs !== Number.POSITIVE_INFINITY) {
      this.#timer = setTimeout(timeIsUp, this.#timeoutMs, this);
    }
    handled(kind, this).then(
      (result: unknown) => this.#resolved(result),
      (error: unknown) => this.#rejected(error),
    );
  }

  /** Ends the run from outside and aborts the signal. Without an outcome nothing will be written. */
  end(reason: QueueError, outcome?: Outcome): void {
    this.#finishWith(outcome && (this.#recorded ?? outcome)); // what the handler has said counts, though it did not return
    this.#abortFor(reason);
  }

  /** Aborts the signal; a handler that throws from now on has this outcome, one that still resolves has its own. */
  abort(reason: QueueError, outcome: Outcome): void {
    this.#whenAborted = outcome;
    this.#abortFor(reason);
  }

  timeIsUp(): void {
    const timeoutMs = this.#timeoutMs;
    const error = new QueueError('HANDLER_TIMEOUT', `The handler took longer than ${timeoutMs} ms.`, {
      data: { id: this.job.id, timeoutMs },
    });
    this.end(error, this.#failed(error));
  }

  /** The payload as the handler knows it, or `PAYLOAD_NOT_UPGRADED`. */
  payload(): unknown {
    const { kind } = this.#around;
    this.#payload = upToDate(kind.name, kind, this.job.payload, this.job.payloadVersion);
    this.#hasPayload = true;
    return this.#payload;
  }

  /** What the handler says of the outcome. */
  record(outcome: Outcome): void {
    this.#assertOpen(outcome.move);
    this.#recorded = outcome;
  }

  async complete(tx: Transaction, result: unknown): Promise<void> {
    const { job } = this;
    if (this.#ended) throw notOurs(job); // by the time limit, a loss or a stop: these writes must not stand
    this.#assertOpen('complete');
    if (this.completing && tx === this.#completedIn) throw completedTwice(job);
    const kept = this.#kept(result);
    // Not the outcome yet: a transaction that is rolled back may be tried again, with another tx, and complete as well.
    this.#completedIn = tx;
    this.#completes++;
    try {
      const made = await this.#around.endIn(tx, job, kept);
      this.#made = made ?? this.#made;
      if (made && !this.#ended) return;
    } finally {
      this.#completes--;
    }
    throw notOurs(job);
  }

  #resolved(result: unknown): void {
    if (!this.#ended) this.#finishWith(this.#recorded ?? this.#whenResolved(result));
  }

  #whenResolved(result: unknown): Outcome {
    if (this.completing) return this.#failed(rolledBack(this.job));
    if (!this.#around.kind.keeps) return completed;
    try {
      return { move: 'complete', kept: this.#kept(result) };
    } catch (error) {
      return this.#failed(error); // as if it had thrown: nobody could read what it gave
    }
  }

  /** What stays in the row; undefined where that goes. Throws `INVALID_RESULT`. */
  #kept(result: unknown): Kept | undefined {
    const { kind } = this.#around;
    return kind.keeps ? { result: resultText(kind.name, result) } : undefined;
  }

  #rejected(error: unknown): void {
    if (this.#recorded && !this.#ended && !this.#abortedFor) this.#around.onFault(error, 'handler');
    const stopped = isDiscard(error) ? undefined : this.#whenAborted;
    this.#finishWith(this.#recorded ?? stopped ?? this.#failed(error));
  }

  #finishWith(outcome: Outcome | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#durationMs = performance.now() - this.#startedAt;
    clearTimeout(this.#timer);
    this.#around.onOver(this, outcome);
    for (const resolve of this.#whenOver ?? []) resolve();
  }

  #abortFor(reason: QueueError): void {
    this.#abortedFor ??= reason;
    this.#controller?.abort(reason);
  }

  #failed(error: unknown): Outcome {
    const { kind, onFault } = this.#around;
    // The handler has not run, and `retry` knows no such payload either. A release that does may come.
    if (!this.#hasPayload) return { move: 'fail', error, delayMs: undefined };
    return failed(error, { attempt: this.job.attempt, payload: this.#payload }, kind, onFault);
  }

  #assertOpen(move: string): void {
    if (this.#ended || this.#recorded) throw hasOutcome(this.job, move);
  }
}

const completed: Outcome = { move: 'complete' };

function timeIsUp(run: Run): void {
  run.timeIsUp();
}

/** What the handler answers, as a promise, also where it throws at once. */
function handled({ handler }: ServedKind, run: Run): Promise<unknown> {
  try {
    return Promise.resolve(handler(run.payload(), createContext(run)));
  } catch (error) {
    return Promise.reject(error);
  }
}

/** What is left of a run when its outcome is written. */
export type EndedRun = Pick<Run, 'job' | 'durationMs' | 'completing' | 'anewOn'>;

/** The run of a job that goes back as it came. */
export function neverStarted(job: ClaimedJob): EndedRun {
  return { job, durationMs: 0, completing: false, anewOn: undefined };
}
