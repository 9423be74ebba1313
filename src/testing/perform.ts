/** `perform`: one handler and one payload, without a database. */
import type { Handler } from '../registry/handlers.js';
import { jobDefaults } from '../registry/job-options.js';
import { metaText, payloadText } from '../registry/payload.js';
import { type AnyRegistry, assertRegistry, kindOf } from '../registry/registry.js';
import { checkFunction, checkKeys, wholeNumber } from '../words/checks.js';
import { invalidOption } from '../words/errors.js';
import type { Outcome } from '../words/outcome.js';
import { servedKind } from '../worker/check-options.js';
import { runToEnd } from './run-to-end.js';

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
 * that ended, by the rules of a worker. No statement is sent: `job.complete(tx, result)` takes whatever it is given for a
 * transaction. Where the handler resolves after it, that counts as committed, so another outcome that it gives changes
 * nothing; where it throws, as rolled back. Time limits are the test runner's.
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
    timeoutMs: Number.POSITIVE_INFINITY,
    meta: given.meta == null ? undefined : JSON.parse(metaText(kind, given.meta, Number.POSITIVE_INFINITY)),
  };
  const signal = checkSignal(given.signal);
  const faults: unknown[] = [];
  const { observed, results } = observe(handler, signal);
  const { run, outcome } = await runToEnd(job, {
    kind: servedKind(registry, kind, observed),
    endIn: async () => ({}),
    onFault: (fault, during) => void (during === 'retry' && faults.push(fault)),
  });
  // What `retry` throws itself is the test's to see.
  if (faults.length > 0) throw faults[0];
  // A worker finds no row then, whatever else the handler has said.
  if (results.returned && run.completing) return { outcome: 'completed', result: results.completed?.value };
  return performedOf(
    outcome?.move === 'fail' && attempt >= job.maxAttempts
      ? { move: 'discard', error: outcome.error }
      : outcome,
    results.returned?.value,
  );
}

/** What a handler gave, as it is: an outcome has it as text, or not at all. */
interface Results {
  returned?: { readonly value: unknown };
  /** To `complete(tx, result)`. */
  completed?: { readonly value: unknown };
}

/** The handler with the test's signal, and what it gives. */
function observe(handler: Handler<unknown, unknown>, signal: AbortSignal) {
  const results: Results = {};
  const observed: Handler<unknown, unknown> = async (payload, run) => {
    const value = await handler(payload, {
      ...run,
      signal,
      async complete(tx, result) {
        const settled = await run.complete(tx, result);
        results.completed = { value: result };
        return settled;
      },
    });
    results.returned = { value };
    return value;
  };
  return { observed, results };
}

function performedOf(outcome: Outcome | undefined, result: unknown): Performed<unknown> {
  switch (outcome?.move) {
    case 'fail':
      return { outcome: 'failed', error: outcome.error, retryInMs: outcome.delayMs };
    case 'discard':
      return { outcome: 'discarded', error: outcome.error };
    case 'snooze':
      return { outcome: 'snoozed', when: outcome.when };
    default:
      return { outcome: 'completed', result };
  }
}

function checkSignal(given: unknown): AbortSignal {
  if (given === undefined) return new AbortController().signal;
  if (given instanceof AbortSignal) return given;
  throw invalidOption('signal', 'an AbortSignal', given);
}
