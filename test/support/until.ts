/**
 * `until` is the only wait of the test suite: it looks again and again until something is true.
 * Tests never sleep for a guessed time; rows that must be old are put in the past.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 25;

export type UntilOptions = {
  /** What is awaited, as it reads after "waiting for". */
  what: string;
  /** @default 10_000 */
  timeoutMs?: number;
};

/**
 * Calls `condition` until it gives something truthy, and returns that.
 * A condition that throws counts as "not yet". One that never answers is given up at the time limit.
 * @throws Error at the time limit, with what was awaited and the last value or error (also as `cause`).
 */
export async function until<Value>(
  condition: () => Value | Promise<Value>,
  { what, timeoutMs = 10_000 }: UntilOptions,
): Promise<Value> {
  const started = performance.now();
  const left = () => timeoutMs - (performance.now() - started);
  let last: Look<Value> = { pending: true };
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    const next = await look(condition, left());
    // A look that did not end in time says less than the one before it.
    if (!('pending' in next) || 'pending' in last) last = next;
    if ('value' in last && last.value) return last.value;
    if (left() <= 0) throw timedOut(what, timeoutMs, last);
    await delay(Math.min(pauseMs, Math.max(left(), 0)));
  }
}

type Look<Value> = { value: Value } | { error: unknown } | { pending: true };

async function look<Value>(condition: () => Value | Promise<Value>, withinMs: number): Promise<Look<Value>> {
  const giveUp = new AbortController();
  const answer = (async () => ({ value: await condition() }))().catch((error: unknown) => ({ error }));
  const limit = delay(Math.max(withinMs, 0), undefined, { signal: giveUp.signal }).then(
    () => ({ pending: true }) as const,
    () => ({ pending: true }) as const,
  );
  try {
    return await Promise.race([answer, limit]);
  } finally {
    giveUp.abort();
  }
}

function timedOut<Value>(what: string, timeoutMs: number, last: Look<Value>): Error {
  const seen =
    'value' in last
      ? `Last value: ${inspect(last.value, { depth: 4, breakLength: Number.POSITIVE_INFINITY })}`
      : 'error' in last
        ? `Last error: ${last.error instanceof Error ? last.error.message : inspect(last.error)}`
        : 'The condition never answered';
  return new Error(`Gave up after ${timeoutMs} ms waiting for ${what}. ${seen}.`, {
    cause: 'error' in last ? last.error : undefined,
  });
}
