/** The conditions of a person's filters, checked before any SQL. */
import type { JobFilter } from '../sql/job-filter.js';
import { checkName, oneOf } from '../words/checks.js';
import { invalidOption } from '../words/errors.js';
import type { State } from '../words/states.js';
import { checkRunAt } from '../words/times.js';

/** What plain JavaScript may give as conditions. */
interface Given {
  readonly state?: unknown;
  readonly kind?: unknown;
  readonly queue?: unknown;
  readonly finishedBefore?: unknown;
  readonly finishedAfter?: unknown;
  readonly errorMatches?: unknown;
}

/** Each checked; what is not given is not in the answer. `namesOf` gives what jobs of a kind may be called. */
export function checkConditions<Name extends State>(
  { state, kind, queue, finishedBefore, finishedAfter, errorMatches }: Given,
  states: readonly Name[],
  namesOf: (kind: string) => readonly string[],
): JobFilter & { readonly state?: Name } {
  if (kind !== undefined) checkName('kind', kind);
  if (queue !== undefined) checkName('queue', queue);
  return {
    ...(state === undefined ? {} : { state: oneOf('state', state, states) }),
    // Not only those of the registry: a kind that was dropped has left jobs.
    ...(kind === undefined ? {} : { kinds: namesOf(String(kind)) }),
    ...(queue === undefined ? {} : { queue: String(queue) }),
    ...instant('finishedBefore', finishedBefore),
    ...instant('finishedAfter', finishedAfter),
    ...(errorMatches === undefined ? {} : { errorMatches: checkText(errorMatches) }),
  };
}

function instant(
  option: 'finishedBefore' | 'finishedAfter',
  given: unknown,
): Pick<JobFilter, 'finishedBefore' | 'finishedAfter'> {
  return given === undefined ? {} : { [option]: checkRunAt(option, given) };
}

function checkText(given: unknown): string {
  if (typeof given === 'string' && given !== '' && given.isWellFormed() && !given.includes('\0'))
    return given;
  throw invalidOption(
    'errorMatches',
    'a text that is not empty, without NUL or halves of a surrogate pair',
    given,
  );
}

/** An object literal, also of another realm. */
export function isPlain(given: unknown): given is { readonly [key: string]: unknown } {
  if (typeof given !== 'object' || given === null) return false;
  const proto: object | null = Object.getPrototypeOf(given);
  return proto === null || Object.getPrototypeOf(proto) === null;
}
