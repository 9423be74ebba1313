/** The full, quoted name of a table, so that no statement depends on a connection's `search_path`. */
import { type SQL, sql } from 'drizzle-orm';
import { getTableConfig } from 'drizzle-orm/pg-core';
import type { JobsTable } from './tables.js';

/** What the statements in `sql/` take as their table: its name as a piece of SQL. */
export type TableName = SQL;

/** `public.jobs`, for what is told apart by table. */
export function tableKey(table: JobsTable): string {
  const { schema = 'public', name } = getTableConfig(table);
  return `${schema}.${name}`;
}

/** A table declared without a schema is in `public`: that is where drizzle-kit puts it. */
export function tableName(table: JobsTable): TableName {
  const { schema = 'public', name } = getTableConfig(table);
  return sql`${sql.identifier(schema)}.${sql.identifier(name)}`;
}
