/**
 * The tables as an option takes them, whatever registry types their rows. By a few of their columns: Drizzle 1.0's
 * tables are invariant in their rows, so no tables type takes them all.
 */
import { is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import { invalidOption } from '../words/errors.js';
import { jobLimits, jobs, jobThrottle, type QueueTables } from './tables.js';

/** What `queueTables(…)` gives, all of it or the jobs table alone. */
export interface AnyQueueTables {
  readonly jobs: { readonly [Column in 'id' | 'kind' | 'payload' | 'state' | 'lockedBy']: object };
  readonly jobThrottle?: { readonly [Column in 'kind' | 'key' | 'until' | 'jobId']: object } | undefined;
  readonly jobLimits?: { readonly [Column in 'scope' | 'name' | 'pausedAt']: object } | undefined;
}

/** Those of `drizzle-queue/schema`: what an option that is left out stands for. */
export const publicTables: QueueTables = { jobs, jobThrottle, jobLimits };

/** The tables, or `INVALID_OPTION`. */
export function checkTables(given: unknown): QueueTables {
  const tables = given as Partial<QueueTables> | null | undefined;
  const optional = [tables?.jobThrottle, tables?.jobLimits];
  if (is(tables?.jobs, PgTable) && optional.every((table) => table === undefined || is(table, PgTable)))
    return given as QueueTables;
  throw invalidOption('tables', 'what queueTables(…) gave', given);
}
