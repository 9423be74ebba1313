/** What a table has to look like, out of its Drizzle declaration: the same that drizzle-kit reads. */
import { is, SQL } from 'drizzle-orm';
import { getTableConfig, PgDialect, type PgTable } from 'drizzle-orm/pg-core';

export interface ExpectedColumn {
  readonly name: string;
  readonly type: string;
  readonly notNull: boolean;
  readonly identity: boolean;
  /** As SQL; undefined where there is none. */
  readonly default: string | undefined;
}

export interface ExpectedIndex {
  readonly name: string;
  readonly unique: boolean;
  readonly keys: readonly { readonly column: string; readonly desc: boolean; readonly nullsFirst: boolean }[];
  readonly predicate: string;
}

export interface ExpectedCheck {
  readonly name: string;
  readonly expression: string;
}

export interface ExpectedTable {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly ExpectedColumn[];
  readonly indexes: readonly ExpectedIndex[];
  readonly checks: readonly ExpectedCheck[];
}

const dialect = new PgDialect();

export function expectedTable(table: PgTable): ExpectedTable {
  const { schema = 'public', name, columns, indexes, checks } = getTableConfig(table);
  return {
    schema,
    name,
    columns: columns.map((column) => ({
      name: column.name,
      type: column.getSQLType(),
      notNull: column.notNull,
      identity: column.generatedIdentity !== undefined,
      default: defaultOf(column.default),
    })),
    indexes: indexes.map(({ config }) => ({
      name: String(config.name),
      unique: config.unique,
      keys: config.columns.map((key) => keyOf(key)),
      predicate: config.where ? textOf(config.where) : '',
    })),
    checks: checks.map((check) => ({ name: check.name, expression: textOf(check.value) })),
  };
}

/** Our indexes have columns only, no expressions. */
function keyOf(key: object): ExpectedIndex['keys'][number] {
  const { name, indexConfig } = key as {
    name: string;
    indexConfig: { order?: string; nulls?: string };
  };
  return { column: name, desc: indexConfig.order === 'desc', nullsFirst: indexConfig.nulls === 'first' };
}

function defaultOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (is(value, SQL)) return textOf(value);
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

function textOf(expression: SQL): string {
  return dialect.sqlToQuery(expression).sql;
}
