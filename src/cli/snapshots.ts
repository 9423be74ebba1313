/**
 * Where the jobs table is, by drizzle-kit's snapshots: 0.31 notes the whole schema after each migration, 1.0 the whole
 * once and then what each migration changes.
 */
import { jobsTable } from './custom-sql.js';

/** Jobs tables by `["schema","name"]`, which is also how drizzle-kit 1.0 names a table. */
type Names = ReadonlySet<string>;

/** A column that no other table of that name will have: an app may have a `jobs` of its own. */
const ourColumn = 'locked_by';

/** The tables of this library that exist after each of the snapshots; one without a snapshot changes nothing. */
export function jobsTablesAfter(snapshots: readonly unknown[]): Names[] {
  let names: Names = new Set();
  return snapshots.map((snapshot) => {
    if (isObject(snapshot)) names = after(names, snapshot);
    return names;
  });
}

function after(names: Names, { tables, ddl, deltas }: Fields): Names {
  if (isObject(tables)) return ofTables(Object.values(tables).filter(isObject));
  if (Array.isArray(ddl)) return ofEntities(ddl.filter(isObject));
  return Array.isArray(deltas) ? changed(names, deltas.filter(isObject)) : names;
}

/** drizzle-kit 0.31, where a table without a schema has the schema ''. */
function ofTables(tables: readonly Fields[]): Names {
  const ours = tables.filter(
    ({ name, columns }) => name === jobsTable && isObject(columns) && ourColumn in columns,
  );
  return new Set(ours.map(({ schema, name }) => JSON.stringify([schema || 'public', name])));
}

/** drizzle-kit 1.0: everything that a migration makes, columns beside tables. */
function ofEntities(entities: readonly Fields[]): Names {
  const ours = entities.filter(
    ({ entityType, table, name }) => entityType === 'columns' && table === jobsTable && name === ourColumn,
  );
  return new Set(ours.map(({ schema, table }) => JSON.stringify([schema, table])));
}

function changed(names: Names, deltas: readonly Fields[]): Names {
  const dropped = new Set(deltas.filter(({ op }) => op === 'drop').map(({ key }) => key));
  const kept = [...names].filter((name) => !dropped.has(`tables\0${name}`));
  const made = deltas.filter(({ op }) => op === 'create').map(({ row }) => row);
  return new Set([...kept.map((name) => renamed(name, deltas)), ...ofEntities(made.filter(isObject))]);
}

/** The name of a table after these changes: it, or the schema that it is in, may have another. */
function renamed(name: string, deltas: readonly Fields[]): string {
  let [schema, table]: unknown[] = JSON.parse(name);
  for (const { op, key, set } of deltas) {
    if (op !== 'rename' || !isObject(set)) continue;
    if (key === `tables\0${JSON.stringify([schema, table])}`) {
      schema = set['schema'] ?? schema;
      table = set['name'] ?? table;
    } else if (key === `schemas\0${JSON.stringify([schema])}`) schema = set['name'];
  }
  return JSON.stringify([schema, table]);
}

type Fields = { readonly [name: string]: unknown };

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
