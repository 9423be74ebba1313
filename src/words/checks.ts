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

/** Of a dedupe key, in characters; the table's CHECK says the same. */
const longestKey = 512;

/** What a dedupe key has to be, or undefined where the value is one. */
export function wrongKey(given: unknown): string | undefined {
  if (typeof given === 'string' && given !== '' && given.isWellFormed() && !given.includes('\0')) {
    if (given.length <= longestKey) return undefined;
    if (given.length <= 2 * longestKey && [...given].length <= longestKey) return undefined;
  }
  return `a text of 1 to ${longestKey} characters without NUL or halves of a surrogate pair`;
}

/** One of these texts, or `INVALID_OPTION` with them named. */
export function oneOf<const Name extends string>(
  option: string,
  given: unknown,
  names: readonly Name[],
): Name {
  const found = names.find((name) => name === given);
  if (found !== undefined) return found;
  throw invalidOption(option, `one of ${names.map((name) => `'${name}'`).join(', ')}`, given);
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
