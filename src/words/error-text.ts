/**
 * What is kept of a thrown value: text that Postgres takes, whatever was thrown.
 *
 * A handler may throw anything: null, a Symbol, a revoked Proxy, an Error whose getters throw, 50 MB of text.
 * Only name, message, stack and causes are read: extra fields of an error hold sockets, circles and secrets.
 */
import { show } from './errors.js';

/** The most characters kept of one error in `last_error`. */
export const errorTextLimit = 10_000;
/** The most characters kept of one error in `errors`, which keeps several. */
export const errorBriefLimit = 1_000;
/** How many attempts `errors` keeps: the latest. */
export const errorsKept = 10;

const deepestCause = 5;

/** The error with its stack and causes, at most `limit` characters; says so when something was cut. */
export function errorText(thrown: unknown, limit: number = errorTextLimit): string {
  const parts: string[] = [];
  let error: unknown = thrown;
  for (let depth = 0; depth < deepestCause; depth++) {
    parts.push((depth === 0 ? '' : 'Caused by: ') + describe(error, limit));
    const cause = read(error, 'cause');
    if (cause === undefined || cause === error) break;
    error = cause;
  }
  return clean(parts.join('\n'), limit);
}

/** The error's name and message alone, in one short piece. */
export function errorBrief(thrown: unknown): string {
  return clean(headline(withoutQuery(thrown), errorBriefLimit), errorBriefLimit);
}

/** What the driver said, where Drizzle has wrapped it: Drizzle's own message is the whole query with its parameters. */
export function withoutQuery(thrown: unknown): unknown {
  const message = read(thrown, 'message');
  const isQuery = typeof message === 'string' && message.startsWith('Failed query');
  return (isQuery ? read(thrown, 'cause') : undefined) ?? thrown;
}

/** Text without NUL and lone surrogates, cut to `limit` characters without splitting one. */
export function clean(text: string, limit: number): string {
  const note = '… (cut)';
  const cut = text.length > limit ? text.slice(0, limit - note.length) : text;
  // A pair split by the cut leaves its first half at the end; the half goes, instead of becoming U+FFFD.
  const whole = cut.length < text.length ? cut.replace(/[\ud800-\udbff]$/, '') : cut;
  const safe = whole.replaceAll('\0', '\ufffd').toWellFormed();
  return cut.length < text.length ? safe + note : safe;
}

function describe(error: unknown, limit: number): string {
  const stack = read(error, 'stack');
  const head = headline(error, limit);
  if (typeof stack !== 'string' || stack === '') return head;
  const start = stack.slice(0, limit + 1);
  // V8's stack begins with name and message as they were when the error was made; a later message is put in front.
  return start.startsWith(head.slice(0, start.length)) ? start : `${head}\n${start}`;
}

// A character more than the limit: `clean` then sees that something is missing, and says so.
function headline(error: unknown, limit: number): string {
  if (typeof error !== 'object' || error === null) {
    return typeof error === 'string'
      ? error.slice(0, limit + 1) || 'an empty string was thrown'
      : show(error);
  }
  const [name, message] = [read(error, 'name'), read(error, 'message')];
  const said = typeof message === 'string' ? message.slice(0, limit + 1) : '';
  const called = typeof name === 'string' ? name.slice(0, 200) : '';
  if (called && said) return `${called}: ${said}`;
  return called || said || `${show(error)} was thrown`;
}

/** A property, or undefined where reading it throws. */
function read(value: unknown, key: 'name' | 'message' | 'stack' | 'cause'): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    return (value as { [key: string]: unknown })[key];
  } catch {
    return undefined;
  }
}
