/** Checks of plain values that come from outside, shared by every surface that takes options. */
import { didYouMean, invalidOption, QueueError, show } from './errors.js';

/** A whole number within the bounds, or `INVALID_OPTION` with the bounds named. */
export function wholeNumber(option: string, given: unknown, from: number, to: number): number {
  if (typeof given === 'number' && Number.isInteger(given) && given >= from && given <= to) {
    return given === 0 ? 0 : given; // -0 is 0
  }
  throw invalidOption(option, `a whole number from ${from} to ${to}`, given);
}

/** True or false, or `INVALID_OPTION`. */
export function trueOrFalse(option: string, given: unknown): boolean {
  if (typeof given === 'boolean') return given;
  throw invalidOption(option, 'true or false', given);
}

/** A name that fits a queue or a kind: 1 to 128 characters that Postgres can store. */
export function checkName(option: string, given: unknown): void {
  if (typeof given === 'string' && given !== '' && given.isWellFormed() && !given.includes('\0')) {
    // Code points, as char_length in the table's CHECK counts them.
    if (given.length <= 128 || [...given].length <= 128) return;
  }
  throw invalidOption(
    option,
    'a text of 1 to 128 characters without NUL or halves of a surrogate pair',
    given,
  );
}

/** A function, or `INVALID_OPTION`. */
export function checkFunction(option: string, given: unknown): void {
  if (typeof given !== 'function') throw invalidOption(option, 'a function', given);
}

/** An object with no other keys than these, or `INVALID_OPTION` that names the odd one. */
export function checkKeys(what: string, given: unknown, keys: readonly string[]): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalidOption(what, 'an object', given);
  }
  for (const key of Object.keys(given)) {
    if (keys.includes(key)) continue;
    throw new QueueError(
      'INVALID_OPTION',
      `Unknown option ${show(key)} in ${what}.${didYouMean(key, keys)} Known are: ${keys.join(', ')}.`,
      { data: { option: key, expected: keys } },
    );
  }
}
