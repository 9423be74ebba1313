/** The defaults of a kind's options, and their checks. */
import { checkFunction, checkKeys, wholeNumber } from '../words/checks.js';
import { invalidOption } from '../words/errors.js';
import type { JobOptions } from './job.js';

export const jobDefaults = {
  maxAttempts: 10,
  timeoutMs: 15 * 60_000,
  rescueAfterMs: 60_000,
  priority: 0,
} as const;

/** The bounds of options that exist both for a kind and for one enqueue. */
export const limits = {
  priority: [-32_768, 32_767],
  maxAttempts: [1, 32_767],
  rescueAfterMs: [1_000, 86_400_000],
  /** What a timer of Node can wait. */
  timeoutMs: [1, 2_147_483_647],
} as const;

const keys = ['maxAttempts', 'timeoutMs', 'rescueAfterMs', 'priority', 'retry'];

/** The options as given, checked and frozen. */
export function checkJobOptions<Payload>(given: JobOptions<Payload>): JobOptions<Payload> {
  if (typeof given === 'object' && given !== null && 'queue' in given) {
    throw invalidOption('queue', 'a method, as in job(…).queue(…), and no option', given.queue);
  }
  checkKeys('job(…)', given, keys);
  const { maxAttempts, timeoutMs, rescueAfterMs, priority, retry } = given;
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
  return Object.freeze({ ...given });
}
