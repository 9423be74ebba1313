/** The defaults of a kind's options, and their checks. */
import { longestDelayMs } from '../words/backoff.js';
import { checkFunction, checkKeys, oneOf, wholeNumber } from '../words/checks.js';
import { invalidOption } from '../words/errors.js';
import { checkDelay } from '../words/times.js';
import type { JobOptions, OnDuplicate } from './job.js';

export const jobDefaults = {
  version: 1,
  maxAttempts: 10,
  timeoutMs: 15 * 60_000,
  rescueAfterMs: 60_000,
  priority: 0,
  onDuplicate: 'skip',
} as const;

/** The bounds of options that exist both for a kind and for one enqueue. */
export const limits = {
  priority: [-32_768, 32_767],
  maxAttempts: [1, 32_767],
  rescueAfterMs: [1_000, 86_400_000],
  /** What a timer of Node can wait. */
  timeoutMs: [1, 2_147_483_647],
} as const;

/** What an enqueue may do when its dedupe key is taken. */
export const onDuplicates: readonly OnDuplicate[] = ['skip', 'replace', 'debounce', 'again', 'throttle'];

const keys = [
  'version',
  'maxAttempts',
  'timeoutMs',
  'rescueAfterMs',
  'priority',
  'retry',
  'dedupeKey',
  'onDuplicate',
  'maxWaitMs',
  'periodMs',
];

/** The options as given, checked and frozen. */
export function checkJobOptions<Payload>(given: JobOptions<Payload>): JobOptions<Payload> {
  if (typeof given === 'object' && given !== null && 'queue' in given) {
    throw invalidOption('queue', 'a method, as in job(…).queue(…), and no option', given.queue);
  }
  if (typeof given === 'object' && given !== null && 'onComplete' in given) {
    throw invalidOption(
      'onComplete',
      "a method, as in job(…).onComplete('keep'), and no option",
      given.onComplete,
    );
  }
  checkKeys('job(…)', given, keys);
  const { version, maxAttempts, timeoutMs, rescueAfterMs, priority, retry, dedupeKey } = given;
  if (version !== undefined) wholeNumber('version', version, 1, 32_767);
  if (maxAttempts !== undefined) wholeNumber('maxAttempts', maxAttempts, ...limits.maxAttempts);
  if (priority !== undefined) wholeNumber('priority', priority, ...limits.priority);
  if (timeoutMs !== undefined && timeoutMs !== Number.POSITIVE_INFINITY) {
    wholeNumber('timeoutMs', timeoutMs, ...limits.timeoutMs);
  }
  if (rescueAfterMs !== undefined) {
    wholeNumber('rescueAfterMs', rescueAfterMs, ...limits.rescueAfterMs);
    if (rescueAfterMs % 1_000 !== 0) throw invalidOption('rescueAfterMs', 'in whole seconds', rescueAfterMs);
  }
  if (retry !== undefined) checkFunction('retry', retry);
  if (dedupeKey !== undefined) checkFunction('dedupeKey', dedupeKey);
  if (checkOnDuplicate(given.onDuplicate, given) === 'throttle') requirePeriod(given.periodMs);
  return Object.freeze({ ...given });
}

/** What plain JavaScript may give beside it. */
interface DuplicateTimes {
  readonly maxWaitMs?: unknown;
  readonly periodMs?: unknown;
}

/** What to do about a duplicate, for a kind or for one enqueue; `INVALID_OPTION` where the options do not fit together. */
export function checkOnDuplicate(
  onDuplicate: unknown,
  { maxWaitMs, periodMs }: DuplicateTimes,
): OnDuplicate | undefined {
  const checked = onDuplicate === undefined ? undefined : oneOf('onDuplicate', onDuplicate, onDuplicates);
  if (maxWaitMs !== undefined) {
    checkDelay('maxWaitMs', maxWaitMs);
    if (checked !== 'debounce')
      throw invalidOption('maxWaitMs', "left out where `onDuplicate` is not 'debounce'", maxWaitMs);
  }
  if (periodMs !== undefined) {
    requirePeriod(periodMs);
    if (checked !== 'throttle')
      throw invalidOption('periodMs', "left out where `onDuplicate` is not 'throttle'", periodMs);
  }
  return checked;
}

/** A period in whole ms; `INVALID_OPTION` also where there is none. */
export function requirePeriod(given: unknown): number {
  if (typeof given === 'number' && given >= 1 && given <= longestDelayMs) return Math.round(given);
  throw invalidOption(
    'periodMs',
    `a number of ms from 1 to ${longestDelayMs}, which 'throttle' needs`,
    given,
  );
}
