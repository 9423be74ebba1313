/**
 * The one place that calls `execute`. Its answer differs by driver: an array (postgres.js, Bun) or `{ rows }`
 * (node-postgres, PGlite, Neon). Anything else would make a fenced finish believe that it changed nothing.
 */
import type { SQL } from 'drizzle-orm';
import { QueueError, show } from '../words/errors.js';
import type { Executor } from './executor.js';

/** A row as drivers give it: bigints as text or numbers, times as text. */
export type Row = { readonly [column: string]: unknown };

/**
 * Runs a statement and gives its rows. Rejects with what the driver threw, usually wrapped by Drizzle.
 *
 * Every statement binds a parameter, a constant if there is nothing else: behind one without, postgres.js sends the next
 * before the answer has come, and a pooler in transaction mode may then never answer that.
 */
export async function rows(executor: Pick<Executor, 'execute'>, statement: SQL): Promise<readonly Row[]> {
  const result: unknown = await executor.execute(statement);
  if (Array.isArray(result)) return asNamed(result);
  if (typeof result === 'object' && result !== null && 'rows' in result && Array.isArray(result.rows)) {
    return result.rows;
  }
  throw new QueueError(
    'UNEXPECTED_RESULT',
    `Expected \`execute\` to answer with an array or with { rows }, got ${show(result)}. ` +
      'This Drizzle driver is not supported, or something wraps its answers.',
  );
}

/**
 * The rows under the names that the statement gave: no name of ours has an underscore, so of postgres.js's transforms
 * only `pascal` changes them, by a capital in front.
 */
function asNamed(list: readonly Row[]): readonly Row[] {
  const [first] = list;
  if (first === undefined || !Object.keys(first).some((name) => /^[A-Z]/.test(name))) return list;
  return list.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name.charAt(0).toLowerCase() + name.slice(1), value]),
    ),
  );
}

/** An id or count out of a row. Ids are JavaScript numbers: 2^53 of them are out of reach. */
export function numberOf(value: unknown): number {
  // A bigint where the app told its driver to parse int8 so.
  const number = typeof value === 'string' || typeof value === 'bigint' ? Number(value) : value;
  if (typeof number === 'number' && !Number.isNaN(number)) return number;
  throw new QueueError('UNEXPECTED_RESULT', `Expected a number from the database, got ${show(value)}.`);
}

/** A text out of a row. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new QueueError('UNEXPECTED_RESULT', `Expected a text from the database, got ${show(value)}.`);
}
