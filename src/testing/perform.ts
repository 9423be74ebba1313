/** `perform`: one handler and one payload, without a database. */
import type { Transaction } from '../database/executor.js';
import type { Handler } from '../registry/handlers.js';
import { jobDefaults } from '../registry/job-options.js';
import { payloadText, resultText } from '../registry/payload.js';
import { type AnyRegistry, assertRegistry, kindOf } from '../registry/registry.js';
import { checkFunction, checkKeys, wholeNumber } from '../words/checks.js';
import { invalidOption, QueueError } from '../words/errors.js';
import type { Outcome } from '../words/outcome.js';
import { checkHandlers } from '../worker/check-options.js';
import { createContext } from '../worker/context.js';
import { failed } from '../worker/failure.js';

/** How a run ended, as a worker would write it down. */
export type Performed<Result> =
  | {
      readonly outcome: 'completed';
      /** What the handler returned, or gave to `job.complete(tx, result)`. */
      readonly result: Result;
    }
  | {
      /** Another attempt follows. */
      readonly outcome: 'failed';
      readonly error: unknown;
      /** What the kind's `retry` said; undefined for the usual backoff. */
      readonly retryInMs: number | undefined;
    }
  | {
      /** No more attempts: used up, or the handler or the kind's `retry` said so. */
      readonly outcome: 'discarded';
      readonly error: unknown;
    }
  | {
      readonly outcome: 'snoozed';
      /** As the handler said: so many ms, or ISO text in UTC. */
      readonly when: { readonly delayMs: number } | { readonly runAt: string };
    };

/** What the handler is told of its job. */
export interface PerformOptions {
  /** The attempt, from 1. @default 1 */
  readonly attempt?: number | undefined;
  /** How many there are. @default that of the kind */
  readonly maxAttempts?: number | undefined;
  /** The job's id. @default 1 */
  readonly id?: number | undefined;
  /** What its enqueue gave as `meta`. @default none */
  readonly meta?: { readonly [key: string]: unknown } | undefined;
  /** Aborts when the test wants it to; nothing else does. @default one that never aborts */
  readonly signal?: AbortSignal | undefined;
}

/** The arguments after the handler: the payload may be left out where the kind has none. */
export type PerformArgs<Payload> = undefined extends Payload
  ? [payload?: Payload, options?: PerformOptions]
  : [payload: Payload, options?: PerformOptions];

/**
 * Runs a handler once with what a worker would give it, the payload as it comes back out of JSON included, and says how
 * that ended. No statement is sent: `job.complete(tx, result)` takes whatever it is given for a transaction, and a handler
 * that throws after it counts as failed, as if that was rolled back. Time limits are the test runner's.
 *
 * @throws QueueError `UNKNOWN_KIND`, `INVALID_PAYLOAD`, `INVALID_OPTION`
 */
export async function perform<R extends AnyRegistry, Kind extends keyof R['kinds'] & string>(
  registry: R,
  kind: Kind,
  handler: Handler<
    R['kinds'][NoInfer<Kind>]['$payload'],
    R['kinds'][NoInfer<Kind>]['$result'],
    NoInfer<Kind>
  >,
  ...args: PerformArgs<R['kinds'][Kind]['$payload']>
): Promise<Performed<R['kinds'][Kind]['$result']>>;
export async function perform(
  registry: AnyRegistry,
  kind: string,
  handler: Handler<unknown, unknown>,
  ...[payload, given = {}]: readonly [payload?: unknown, options?: PerformOptions]
): Promise<Performed<unknown>> {
  assertRegistry(registry);
  const type = kindOf(registry, kind);
  checkFunction('handler', handler);
  const served = checkHandlers(registry, [kind], { [kind]: handler }).get(kind);
  checkKeys('perform(…)', given, ['attempt', 'maxAttempts', 'id', 'meta', 'signal']);
  const attempt = wholeNumber('attempt', given.attempt ?? 1, 1, 32_767);
  const maxAttempts = given.maxAttempts ?? type.options.maxAttempts ?? jobDefaults.maxAttempts;
  const job = {
    id: wholeNumber('id', given.id ?? 1, 1, Number.MAX_SAFE_INTEGER),
    lockedBy: 'perform/1',
    queue: type.$queue,
    kind,
    payload: JSON.parse(payloadText(kind, payload, Number.POSITIVE_INFINITY)),
    attempt,
    maxAttempts: wholeNumber('maxAttempts', maxAttempts, 1, 32_767),
    payloadVersion: type.version,
    timeoutMs: undefined,
    meta: given.meta,
  };
  const signal = checkSignal(given.signal);
  let said: Performed<unknown> | undefined;

  function record(performed: Performed<unknown>): void {
    // A transaction that was rolled back may be tried again, and complete as well.
    if (said && said.outcome !== 'completed') {
      throw new QueueError('JOB_ENDED', `The job has its outcome already: ${said.outcome}.`, {
        data: { id: job.id },
      });
    }
    said = performed;
  }

  /** Of a kind that keeps its rows, a result that JSON cannot carry is a failure. */
  function checkKept(result: unknown): void {
    if (type.$onComplete === 'keep') resultText(kind, result);
  }

  const around = {
    job,
    kind,
    signal,
    record: (outcome: Outcome) => record(performedOf(outcome)),
    complete: async () => {},
  };
  const context = createContext(around);
  const run = {
    ...context,
    signal,
    async complete(tx: Transaction, result: unknown) {
      checkKept(result);
      record({ outcome: 'completed', result });
      return context.complete(tx, result);
    },
  };
  try {
    const result = await handler(job.payload, run);
    if (!said) checkKept(result);
    return said ?? { outcome: 'completed', result };
  } catch (error) {
    if (said && said.outcome !== 'completed') return said; // an error thrown after them changes nothing
    // What `retry` throws itself is the test's to see.
    const outcome = served ? failed(error, job, served, raise) : ({ move: 'discard', error } as const);
    return performedOf(
      outcome.move === 'fail' && attempt >= job.maxAttempts ? { move: 'discard', error } : outcome,
    );
  }
}

function raise(fault: unknown): never {
  throw fault;
}

function performedOf(outcome: Outcome): Performed<unknown> {
  switch (outcome.move) {
    case 'fail':
      return { outcome: 'failed', error: outcome.error, retryInMs: outcome.delayMs };
    case 'discard':
      return { outcome: 'discarded', error: outcome.error };
    case 'snooze':
      return { outcome: 'snoozed', when: outcome.when };
    default:
      return { outcome: 'completed', result: undefined };
  }
}

function checkSignal(given: unknown): AbortSignal {
  if (given === undefined) return new AbortController().signal;
  if (given instanceof AbortSignal) return given;
  throw invalidOption('signal', 'an AbortSignal', given);
}
