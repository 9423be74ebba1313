/** The full, quoted name of a table, so that no statement depends on a connection's `search_path`. */
import { createHash } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { getTableConfig } from 'drizzle-orm/pg-core';
import type { JobLimitsTable, JobsTable, JobThrottleTable } from './tables.js';

/** What the statements in `sql/` take as their table: its name as a piece of SQL. */
export type TableName = SQL;

/** `public.jobs`, for what is told apart by table. */
export function tableKey(table: JobsTable): string {
  const { schema, name } = tablePlace(table);
  return `${schema}.${name}`;
}

/**
 * The channel for NOTIFY of a table: `drizzle_queue_` and 16 hex digits of the SHA-256 of its {@link tableKey}. By a hash,
 * since Postgres cuts names off at 63 bytes, and two tables must not wake each other's workers.
 */
export function channelOf(table: JobsTable): string {
  return channelOfKey(tableKey(table));
}

/** The same, by the table's {@link tableKey}. */
export function channelOfKey(key: string): string {
  return `drizzle_queue_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
}

/** Any of the library's tables. */
type QueueTable = JobsTable | JobThrottleTable | JobLimitsTable;

export function tableName(table: QueueTable): TableName {
  const { schema, name } = tablePlace(table);
  return sql`${sql.identifier(schema)}.${sql.identifier(name)}`;
}

/** Where a table is, as catalogs have it. */
export interface TablePlace {
  readonly schema: string;
  readonly name: string;
}

/** A table declared without a schema is in `public`: that is where drizzle-kit puts it. */
export function tablePlace(table: QueueTable): TablePlace {
  const { schema = 'public', name } = getTableConfig(table);
  return { schema, name };
}
