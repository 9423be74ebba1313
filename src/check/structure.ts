/** A table's columns, indexes, CHECKs and storage: the live ones against those of its declaration. */
import { storageParameters } from '../database/storage.js';
import type { CatalogColumn, CatalogIndex, CatalogTable } from '../sql/catalog.js';
import { quotedName, setStorage } from '../sql/storage.js';
import {
  addCheck,
  addColumn,
  alterColumn,
  createIndex,
  dropCheck,
  dropIndex,
  fullName,
  setType,
} from './ddl.js';
import type { ExpectedColumn, ExpectedIndex, ExpectedTable } from './expected.js';
import { isSameExpression } from './expression.js';
import { problem, type SchemaProblem } from './problem.js';

export function structureProblems(expected: ExpectedTable, live: CatalogTable): SchemaProblem[] {
  return [
    ...expected.columns.flatMap((column) => columnProblems(expected, column, live)),
    ...foreignColumns(expected, live),
    ...expected.indexes.flatMap((index) => indexProblems(expected, index, live)),
    ...checkProblems(expected, live),
  ];
}

/** Migrations are tried first: a statement by hand is for a database that left their path. */
function byMigration(run: readonly string[]): string {
  return `Run: npx drizzle-kit generate && npx drizzle-kit migrate. Where they find nothing to do, the database was changed beside them: ${run.join('; ')}`;
}

function columnProblems(table: ExpectedTable, expected: ExpectedColumn, live: CatalogTable): SchemaProblem[] {
  const object = `column ${fullName(table)}.${quotedName(expected.name)}`;
  const found = live.columns.find(({ name }) => name === expected.name);
  if (!found) {
    const run = [addColumn(table, expected)];
    return [problem('COLUMN_MISSING', 'error', object, `There is no ${object}`, run, byMigration(run))];
  }
  return differences(table, expected, found).map(({ severity, wrong, run }) =>
    problem('COLUMN_DIFFERS', severity, object, `The ${object} ${wrong}`, [run], byMigration([run])),
  );
}

interface Difference {
  readonly severity: SchemaProblem['severity'];
  readonly wrong: string;
  readonly run: string;
}

function differences(table: ExpectedTable, expected: ExpectedColumn, found: CatalogColumn): Difference[] {
  const all: Difference[] = [];
  if (found.type !== expected.type) {
    const wrong = `has the type ${found.type}, expected ${expected.type}`;
    all.push({ severity: 'error', wrong, run: setType(table, expected) });
  }
  if (expected.notNull && !found.notNull) {
    const run = alterColumn(table, expected, 'set not null');
    all.push({ severity: 'warning', wrong: 'may be null', run });
  }
  if (expected.identity && !found.filled) {
    const run = alterColumn(table, expected, 'add generated always as identity');
    all.push({ severity: 'error', wrong: 'is not filled by the database', run });
  }
  if (expected.default !== undefined && !found.filled) {
    const run = alterColumn(table, expected, `set default ${expected.default}`);
    all.push({ severity: 'error', wrong: 'has no default', run });
  }
  return all;
}

/** A column of the app's own is welcome, unless no insert of ours could fill it. */
function foreignColumns(table: ExpectedTable, live: CatalogTable): SchemaProblem[] {
  return live.columns
    .filter(
      ({ name, notNull, filled }) => notNull && !filled && !table.columns.some((our) => our.name === name),
    )
    .map(({ name }) => {
      const object = `column ${fullName(table)}.${quotedName(name)}`;
      const wrong = `The ${object} is not one of ours, and without a default every enqueue fails on it`;
      const run = [`alter table ${fullName(table)} alter column ${quotedName(name)} drop not null`];
      return problem('COLUMN_DIFFERS', 'error', object, wrong, run, `Give it a default, or run: ${run[0]}`);
    });
}

function indexProblems(table: ExpectedTable, expected: ExpectedIndex, live: CatalogTable): SchemaProblem[] {
  const object = `index ${quotedName(expected.name)}`;
  // Without the unique one, dedupe keys let duplicates in; without another, statements are slow.
  const severity = expected.unique ? 'error' : 'warning';
  const found = live.indexes.find(({ name }) => name === expected.name);
  const create = createIndex(table, expected);
  if (!found) {
    const wrong = `There is no ${object} on ${fullName(table)}`;
    return [problem('INDEX_MISSING', severity, object, wrong, [create], byMigration([create]))];
  }
  const wrong = indexDifference(expected, found);
  if (wrong === undefined) return [];
  const run = [dropIndex(table, expected.name), create];
  return [problem('INDEX_DIFFERS', severity, object, `The ${object} on ${fullName(table)} ${wrong}`, run)];
}

function indexDifference(expected: ExpectedIndex, found: CatalogIndex): string | undefined {
  const predicate = found.predicate ?? '';
  if (!isSameExpression(expected.predicate, predicate)) {
    return `has the predicate ${shown(predicate)}, expected ${shown(expected.predicate)}`;
  }
  const [keys, expectedKeys] = [keysOf(found), keysOf(expected)];
  if (keys !== expectedKeys) return `is on (${keys}), expected (${expectedKeys})`;
  if (found.unique !== expected.unique) return expected.unique ? 'is not unique' : 'is unique';
  if (!found.valid) return 'is not valid: making it failed';
  return undefined;
}

function keysOf({ keys }: Pick<CatalogIndex, 'keys'>): string {
  return keys
    .map(({ column, desc, nullsFirst }) => {
      const nulls = desc === nullsFirst ? '' : nullsFirst ? ' nulls first' : ' nulls last';
      return `${column ?? 'an expression'}${desc ? ' desc' : ''}${nulls}`;
    })
    .join(', ');
}

function shown(predicate: string): string {
  return predicate === '' ? 'none' : `\`${predicate}\``;
}

function checkProblems(table: ExpectedTable, live: CatalogTable): SchemaProblem[] {
  return table.checks.flatMap((expected) => {
    const object = `constraint ${quotedName(expected.name)}`;
    const found = live.checks.find(({ name }) => name === expected.name);
    const add = addCheck(table, expected);
    if (!found) {
      const wrong = `There is no ${object} on ${fullName(table)}`;
      return [problem('CHECK_MISSING', 'warning', object, wrong, [add], byMigration([add]))];
    }
    if (isSameExpression(expected.expression, found.expression)) return [];
    const wrong = `The ${object} on ${fullName(table)} checks \`${found.expression}\`, expected \`${expected.expression}\``;
    return [problem('CHECK_DIFFERS', 'warning', object, wrong, [dropCheck(table, expected.name), add])];
  });
}

/** A value of the app's own is its choice; none at all means that nobody has chosen. */
export function storageProblems(table: ExpectedTable, live: CatalogTable): SchemaProblem[] {
  const unset = [...storageParameters.keys()].filter((parameter) => !(parameter in live.storage));
  if (unset.length === 0) return [];
  const object = `table ${fullName(table)}`;
  const wrong = `The storage parameters of ${object} are not set: ${unset.join(', ')}`;
  const where = table.schema === 'public' ? '' : ` --schema ${quotedName(table.schema)}`;
  const run = [`npx drizzle-queue migration${where}`, 'npx drizzle-kit migrate'];
  const instead = `Run: ${run.join(' && ')}, or the SQL: ${setStorage(table.schema, table.name)}`;
  return [problem('STORAGE_NOT_SET', 'warning', object, wrong, run, instead)];
}
