/** Checks of the times a job may be given. */
import { types } from 'node:util';
import { longestDelayMs } from './backoff.js';
import { invalidOption } from './errors.js';
import type { When } from './outcome.js';

/** A time as `delayMs` or `runAt`; undefined where neither is given. */
export function checkWhen({ delayMs, runAt }: { delayMs?: unknown; runAt?: unknown }): When | undefined {
  const [hasDelay, hasTime] = [
    delayMs !== undefined && delayMs !== null,
    runAt !== undefined && runAt !== null,
  ];
  if (hasDelay && hasTime) throw invalidOption('runAt', 'left out where `delayMs` is given', runAt);
  if (hasTime) return { runAt: checkRunAt('runAt', runAt) };
  return hasDelay ? { delayMs: checkDelay('delayMs', delayMs) } : undefined;
}

/** A delay in whole ms, from 0 to a hundred years. */
export function checkDelay(option: string, given: unknown): number {
  if (typeof given === 'number' && given >= 0 && given <= longestDelayMs) return Math.round(given);
  throw invalidOption(option, `a number of ms from 0 to ${longestDelayMs}`, given);
}

const isoWithZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** An instant as ISO text in UTC. Text without a zone is refused: it would mean another time on every machine. */
export function checkRunAt(option: string, given: unknown): string {
  // Not instanceof, which throws for a revoked Proxy and does not know the Date of another realm.
  if (types.isDate(given) || (typeof given === 'string' && isoWithZone.test(given) && dayExists(given))) {
    const time = new Date(given);
    const year = time.getUTCFullYear(); // NaN for an invalid Date, which fails both comparisons
    if (year >= 1 && year <= 9999) return time.toISOString();
  }
  throw invalidOption(
    option,
    'a Date or ISO text with a zone, such as 2027-01-01T08:00:00Z, in the years 1 to 9999',
    given,
  );
}

/** JavaScript takes the 30th of February for the 2nd of March. */
function dayExists(iso: string): boolean {
  const day = new Date(`${iso.slice(0, 10)}T00:00:00Z`);
  return day.getUTCDate() === Number(iso.slice(8, 10));
}
