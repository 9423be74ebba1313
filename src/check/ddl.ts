/** The statements that make what is missing, for a person to run: as drizzle-kit would write them. */
import { quotedName } from '../sql/storage.js';
import type { ExpectedCheck, ExpectedColumn, ExpectedIndex, ExpectedTable } from './expected.js';

/** `"public"."jobs"`. */
export function fullName({ schema, name }: ExpectedTable): string {
  return quotedName(schema, name);
}

export function addColumn(table: ExpectedTable, column: ExpectedColumn): string {
  const parts = [`alter table ${fullName(table)} add column ${quotedName(column.name)} ${column.type}`];
  if (column.identity) parts.push('generated always as identity');
  if (column.default !== undefined) parts.push(`default ${column.default}`);
  if (column.notNull) parts.push('not null');
  return parts.join(' ');
}

export function setType(table: ExpectedTable, { name, type }: ExpectedColumn): string {
  const column = quotedName(name);
  return `alter table ${fullName(table)} alter column ${column} type ${type} using ${column}::${type}`;
}

/** `set not null`, `set default …` and the like. */
export function alterColumn(table: ExpectedTable, { name }: ExpectedColumn, change: string): string {
  return `alter table ${fullName(table)} alter column ${quotedName(name)} ${change}`;
}

/** Concurrently: the app goes on meanwhile. */
export function createIndex(table: ExpectedTable, index: ExpectedIndex): string {
  const keys = index.keys.map(({ column, desc, nullsFirst }) => {
    const order = desc ? ' desc' : '';
    const nulls = desc === nullsFirst ? '' : nullsFirst ? ' nulls first' : ' nulls last';
    return `${quotedName(column)}${order}${nulls}`;
  });
  const unique = index.unique ? 'unique ' : '';
  const where = index.predicate === '' ? '' : ` where ${index.predicate}`;
  return `create ${unique}index concurrently ${quotedName(index.name)} on ${fullName(table)} (${keys.join(', ')})${where}`;
}

export function dropIndex({ schema }: ExpectedTable, name: string): string {
  return `drop index concurrently ${quotedName(schema, name)}`;
}

export function addCheck(table: ExpectedTable, { name, expression }: ExpectedCheck): string {
  return `alter table ${fullName(table)} add constraint ${quotedName(name)} check (${expression})`;
}

export function dropCheck(table: ExpectedTable, name: string): string {
  return `alter table ${fullName(table)} drop constraint ${quotedName(name)}`;
}
