/** What a handler is given beside its payload: its job, and the ways to end it other than returning or throwing. */
import type { Transaction } from '../database/executor.js';
import { type JobContext, type Settled, settled } from '../registry/handlers.js';
import type { ClaimedJob } from '../sql/claim.js';
import { checkKeys } from '../words/checks.js';
import { invalidOption } from '../words/errors.js';
import type { Outcome, When } from '../words/outcome.js';
import { checkWhen } from '../words/times.js';
import { Discard } from './discard.js';

/** What it needs of the run. */
interface RunOfContext {
  readonly job: ClaimedJob;
  readonly signal: AbortSignal;
  record(outcome: Outcome): void;
  complete(tx: Transaction): Promise<void>;
}

export function createContext(run: RunOfContext): JobContext<string, unknown> {
  return new Context(run);
}

/** A class for the same reason as the run. Its methods are made when they are looked at, and work detached. */
class Context implements JobContext<string, unknown> {
  readonly id: number;
  readonly kind: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly lockedBy: string;
  readonly #run: RunOfContext;

  constructor(run: RunOfContext) {
    const { job } = run;
    this.id = job.id;
    this.kind = job.kind;
    this.queue = job.queue;
    this.attempt = job.attempt;
    this.maxAttempts = job.maxAttempts;
    this.lockedBy = job.lockedBy;
    this.#run = run;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get snooze() {
    const run = this.#run;
    return (when: Parameters<JobContext['snooze']>[0]): Settled => {
      run.record({ move: 'snooze', when: whenOf(when) });
      return settled;
    };
  }

  get discard() {
    const run = this.#run;
    return (reason: string): Settled => {
      run.record({ move: 'discard', error: new Discard(String(reason)) });
      return settled;
    };
  }

  get complete() {
    const run = this.#run;
    return async (tx: Transaction): Promise<Settled> => {
      await run.complete(tx);
      return settled;
    };
  }
}

function whenOf(given: { readonly delayMs?: number; readonly runAt?: Date | string }): When {
  const isObject = typeof given === 'object' && given !== null;
  if (isObject) checkKeys('snooze(…)', given, ['delayMs', 'runAt']);
  const when = isObject ? checkWhen(given) : undefined;
  if (!when) throw invalidOption('snooze(…)', '{ delayMs } or { runAt }', given);
  return when;
}
