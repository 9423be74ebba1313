/**
 * How long a failed job waits: `min(2^attempts, 3600) s × random(0.5, 1)`, never under a second.
 *
 * The random factor spreads jobs that failed together; it is applied to the capped value, so the cap holds.
 * The formula itself is SQL (`sql/backoff.ts`), because rescue must use the same one without a worker.
 */
export const backoff = { baseS: 2, capS: 3600, floorMs: 1_000 } as const;

/** The longest delay a job can be given, in ms: a hundred years, far inside what a timestamptz holds. */
export const longestDelayMs = 100 * 365 * 24 * 3600 * 1000;

/**
 * The delay that a kind's `retry` gave, in whole ms within [0, 100 years]; `undefined` (the usual backoff) for
 * anything that is not a usable number. A bad answer must never keep an attempt from being recorded.
 */
export function retryDelay(given: unknown): number | undefined {
  if (typeof given !== 'number' || Number.isNaN(given) || given < 0) return undefined;
  return Math.round(Math.min(given, longestDelayMs));
}
