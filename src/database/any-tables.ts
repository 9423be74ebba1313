/**
 * The tables as an option takes them, whatever registry types their rows. Apart from the tables, whose declarations
 * exist twice.
 */
import { is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import { invalidOption } from '../words/errors.js';
import type { QueueTables } from './tables.js';

// Drizzle 1.0's tables are invariant in their rows, so no other type argument takes them all.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type AnyQueueTables = QueueTables<any>;

/** The tables, or `INVALID_OPTION`. */
export function checkTables(given: unknown): QueueTables {
  if (is((given as Partial<QueueTables> | null | undefined)?.jobs, PgTable)) return given as QueueTables;
  throw invalidOption('tables', 'what queueTables(…) gave', given);
}
