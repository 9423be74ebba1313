/** What is given to read jobs with, checked before any SQL. */
import type { PageRequest } from '../sql/find-jobs.js';
import type { JobFilter } from '../sql/job-filter.js';
import { checkKeys, oneOf, wholeNumber } from '../words/checks.js';
import { invalidOption } from '../words/errors.js';
import { states } from '../words/states.js';
import { checkConditions, isPlain } from './check-filter.js';
import { checkId } from './check-moves.js';

type NamesOf = (kind: string) => readonly string[];

const ofJobs = ['kind', 'queue'];
const ofEnds = [...ofJobs, 'finishedBefore', 'finishedAfter', 'errorMatches'];
const orders = ['newest', 'oldest'] as const;

/** `namesOf` gives what jobs of a kind may be called, here and below. */
export function checkList(given: unknown, namesOf: NamesOf): PageRequest {
  const what = 'the filter of list(…)';
  const { order, limit, after, ...conditions } = fields(what, given, [
    ...ofEnds,
    'state',
    'order',
    'limit',
    'after',
  ]);
  return {
    filter: checkConditions(conditions, states, namesOf),
    newestFirst: oneOf('order', order ?? 'newest', orders) === 'newest',
    limit: wholeNumber('limit', limit ?? 100, 1, 1_000),
    after: after === undefined ? undefined : checkId(after, 'after'),
  };
}

export function checkCounts(given: unknown, namesOf: NamesOf): JobFilter {
  return checkConditions(fields('the filter of counts(…)', given, [...ofJobs, 'state']), states, namesOf);
}

export function checkDeadLetters(
  given: unknown,
  namesOf: NamesOf,
): { readonly filter: JobFilter; readonly limit: number } {
  const { limit, ...conditions } = fields('the filter of deadLetters(…)', given, [...ofEnds, 'limit']);
  return {
    filter: checkConditions(conditions, states, namesOf),
    limit: wholeNumber('limit', limit ?? 100, 1, 1_000),
  };
}

/** How long to wait. */
export function checkWait(given: unknown): number {
  const { timeoutMs } = fields('the options of wait(…)', given, ['timeoutMs']);
  return wholeNumber('timeoutMs', timeoutMs ?? 30_000, 0, 86_400_000);
}

function fields(what: string, given: unknown, keys: readonly string[]): { readonly [key: string]: unknown } {
  if (given === undefined) return {};
  // A Set, a Date or an id has no keys, and would stand for all jobs.
  if (!isPlain(given)) throw invalidOption(what, 'an object', given);
  checkKeys(what, given, keys);
  return given;
}
