/** What a person's moves are given, checked before any SQL. */
import type { FinalFilter } from '../sql/find-final.js';
import { checkKeys, trueOrFalse, wholeNumber } from '../words/checks.js';
import { invalidOption } from '../words/errors.js';
import type { When } from '../words/outcome.js';
import { finalStates } from '../words/states.js';
import { checkWhen } from '../words/times.js';
import { checkConditions, isPlain } from './check-filter.js';

/** One id. */
export function checkId(given: unknown, option = 'id'): number {
  return wholeNumber(option, given, 1, Number.MAX_SAFE_INTEGER);
}

/** A list of ids. */
export function checkIds(given: readonly unknown[]): number[] {
  // Array.from, because map would pass over holes.
  return Array.from(given, (id, index) => checkId(id, `ids[${index}]`));
}

/** A time, which has to be there. */
export function checkTime(given: unknown): When {
  checkKeys('the time', given, ['delayMs', 'runAt']);
  const when = checkWhen(given as { delayMs?: unknown; runAt?: unknown }); // each value is checked there
  if (when) return when;
  throw invalidOption('the time', '{ delayMs } or { runAt }', given);
}

/** Whether it is a preview. */
export function checkReplayOptions(given: unknown): boolean {
  if (given === undefined) return false;
  checkKeys('the replay options', given, ['preview']);
  return trueOrFalse('preview', (given as { preview?: unknown }).preview ?? false);
}

const filterKeys = ['state', 'kind', 'queue', 'finishedBefore', 'finishedAfter', 'errorMatches', 'limit'];

/** The filter of a replay, and how many it takes. `namesOf` gives what jobs of a kind may be called. */
export function checkFilter(
  given: unknown,
  namesOf: (kind: string) => readonly string[],
): { readonly filter: FinalFilter; readonly limit: number } {
  // A Set of ids or a Date has no keys, and would stand for all that were discarded.
  if (!isPlain(given)) throw invalidOption('the jobs', 'an id, a list of ids or a filter', given);
  checkKeys('the replay filter', given, filterKeys);
  const { limit = 1_000, ...conditions } = given;
  return {
    filter: { state: 'discarded', ...checkConditions(conditions, finalStates, namesOf) },
    limit: wholeNumber('limit', limit, 1, 100_000),
  };
}
