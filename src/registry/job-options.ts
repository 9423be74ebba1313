/** The defaults of a kind's options, and their checks. */
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
export const onDuplicates: readonly OnDuplicate[] = ['skip', 'replace', 'debounce'];

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
  checkOnDuplicate(given.onDuplicate, given.maxWaitMs);
  return Object.freeze({ ...given });
}

/** What to do about a duplicate, for a kind or for one enqueue; `INVALID_OPTION` where the two do not fit together. */
export function checkOnDuplicate(onDuplicate: unknown, maxWaitMs: unknown): OnDuplicate | undefined {
  const checked = onDuplicate === undefined ? undefined : oneOf('onDuplicate', onDuplicate, onDuplicates);
  if (maxWaitMs === undefined) return checked;
  checkDelay('maxWaitMs', maxWaitMs);
  if (checked === 'debounce') return checked;
  throw invalidOption('maxWaitMs', "left out where `onDuplicate` is not 'debounce'", maxWaitMs);
}
