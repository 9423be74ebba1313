/** What a handler is given beside its payload: its job, and the ways to end it other than returning or throwing. */
import type { Transaction } from '../database/executor.js';
import { type JobContext, settled } from '../registry/handlers.js';
import type { ClaimedJob } from '../sql/claim.js';
import { checkKeys } from '../words/checks.js';
import { invalidOption } from '../words/errors.js';
import type { Outcome, When } from '../words/outcome.js';
import { checkWhen } from '../words/times.js';
import { Discard } from './discard.js';

/** What it needs of the run. */
interface RunOfContext {
  readonly job: ClaimedJob;
  /** As the registry has it. */
  readonly kind: string;
  readonly signal: AbortSignal;
  record(outcome: Outcome): void;
  complete(tx: Transaction, result: unknown): Promise<void>;
}

/** A plain object with all of it: handlers may take it apart, and wrappers may spread it. */
export function createContext(run: RunOfContext): JobContext<string, unknown> {
  const { job } = run;
  return {
    id: job.id,
    kind: run.kind,
    queue: job.queue,
    attempt: job.attempt,
    maxAttempts: job.maxAttempts,
    lockedBy: job.lockedBy,
    meta: job.meta,
    get signal() {
      return run.signal;
    },
    snooze(when) {
      run.record({ move: 'snooze', when: whenOf(when) });
      return settled;
    },
    discard(reason) {
      run.record({ move: 'discard', error: new Discard(String(reason)) });
      return settled;
    },
    async complete(tx, result) {
      await run.complete(tx, result);
      return settled;
    },
  };
}

function whenOf(given: { readonly delayMs?: number; readonly runAt?: Date | string }): When {
  const isObject = typeof given === 'object' && given !== null;
  if (isObject) checkKeys('snooze(…)', given, ['delayMs', 'runAt']);
  const when = isObject ? checkWhen(given) : undefined;
  if (!when) throw invalidOption('snooze(…)', '{ delayMs } or { runAt }', given);
  return when;
}
