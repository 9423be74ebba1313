/** `checkSchema`: does the database have what this version of the library needs? */

import { type AnyQueueTables, checkTables, publicTables } from '../database/any-tables.js';
import { assertExecutor, type Executor } from '../database/executor.js';
import type { QueueTables } from '../database/tables.js';
import { type Catalog, type CatalogTable, readCatalog } from '../sql/catalog.js';
import { quotedName } from '../sql/storage.js';
import { checkKeys } from '../words/checks.js';
import { invalidOption } from '../words/errors.js';
import { accessProblems } from './access.js';
import { fullName } from './ddl.js';
import { type ExpectedTable, expectedTable } from './expected.js';
import { needs, type QueueRole } from './needs.js';
import { optionalTablesProblems } from './optional-tables.js';
import { problem, type SchemaProblem } from './problem.js';
import { storageProblems, structureProblems } from './structure.js';

const oldestServer = 130_000;

/** What {@link checkSchema} takes besides the database. */
export interface CheckSchemaOptions {
  /** What `queueTables({ schema })` gave. @default the tables of `drizzle-queue/schema` */
  readonly tables?: AnyQueueTables | undefined;
  /** Whose rights are checked. @default 'worker' */
  readonly role?: QueueRole | undefined;
}

/**
 * Compares the live database with what this version needs: the server, the tables, their columns, indexes, CHECKs and
 * storage parameters, and what the connected role may do. It reads catalogs, a statement for each table, and changes nothing.
 * A worker does the same when it starts, and emits each as a `problem`.
 *
 * @returns what is wrong, each with what to run; the empty list when nothing is
 * @throws QueueError `INVALID_EXECUTOR`, `INVALID_OPTION`; errors of Postgres come as Drizzle throws them
 */
export async function checkSchema(
  db: Executor,
  options: CheckSchemaOptions = {},
): Promise<readonly SchemaProblem[]> {
  assertExecutor(db);
  checkKeys('checkSchema(…)', options, ['tables', 'role']);
  const { tables = publicTables, role = 'worker' } = options;
  if (!Object.hasOwn(needs, role))
    throw invalidOption('role', `one of ${Object.keys(needs).join(', ')}`, role);
  return schemaProblems(db, checkTables(tables), role);
}

/** The same with options that are checked. */
export async function schemaProblems(
  db: Executor,
  tables: QueueTables,
  role: QueueRole,
): Promise<readonly SchemaProblem[]> {
  const expected = expectedTable(tables.jobs);
  const catalog = await readCatalog(db, expected.schema, expected.name);
  const problems = [...serverProblems(catalog, role), ...tableProblems(expected, catalog, role)];
  // Where there is no jobs table of ours, that is all there is to say.
  if (!catalog.table || !isOurs(expected, catalog.table)) return problems;
  return [...problems, ...(await optionalTablesProblems(db, tables, role))];
}

function serverProblems({ server }: Catalog, role: QueueRole): SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  if (server.version < oldestServer) {
    const wrong = `The server is Postgres ${server.versionText}; 13 is the oldest that is supported`;
    problems.push(problem('SERVER_TOO_OLD', 'error', 'server', wrong, [], 'Upgrade the server'));
  }
  if (server.recovery && role !== 'reader') {
    const wrong = 'The server is a standby, which takes no writes';
    problems.push(problem('SERVER_READ_ONLY', 'error', 'server', wrong, [], 'Connect to the primary'));
  }
  return problems;
}

function tableProblems(expected: ExpectedTable, catalog: Catalog, role: QueueRole): SchemaProblem[] {
  const { table } = catalog;
  if (!table) return [missingTable(expected, catalog)];
  if (!isOurs(expected, table)) return [foreignTable(expected, table)];
  return [
    ...structureProblems(expected, table),
    ...storageProblems(expected, table),
    ...accessProblems(expected, catalog, table, needs[role]),
  ];
}

const migrate = ['npx drizzle-kit generate', 'npx drizzle-kit migrate'];

function missingTable(expected: ExpectedTable, { elsewhere, schemaUsage }: Catalog): SchemaProblem {
  const object = `table ${fullName(expected)}`;
  if (elsewhere.length > 0) {
    const there = elsewhere.map((name) => quotedName(name)).join(', ');
    const advice = `There is one in the schema ${there}: give createQueue and createWorker the \`tables\` of queueTables({ schema: pgSchema(…) }), or run: ${migrate.join(' && ')}`;
    return problem('TABLE_MISSING', 'error', object, `There is no ${object}`, migrate, advice);
  }
  if (schemaUsage === null) {
    const schema = `schema ${quotedName(expected.schema)}`;
    const advice = `Export the pgSchema from the app's schema file beside its tables, then run: ${migrate.join(' && ')}`;
    return problem('SCHEMA_MISSING', 'error', schema, `There is no ${schema}`, migrate, advice);
  }
  const advice = `Run: ${migrate.join(' && ')}. Where they do not make it, the app's schema file does not export it: \`export * from 'drizzle-queue/schema'\` is hidden by an \`export const jobs\` of the app's own`;
  return problem('TABLE_MISSING', 'error', object, `There is no ${object}`, migrate, advice);
}

/** Of a table of the same name that is somebody else's, one problem says more than twenty missing columns. */
function isOurs(expected: ExpectedTable, { relkind, columns }: CatalogTable): boolean {
  const there = expected.columns.filter(({ name }) => columns.some((column) => column.name === name));
  return (relkind === 'r' || relkind === 'p') && there.length > expected.columns.length / 2;
}

function foreignTable(expected: ExpectedTable, { relkind }: CatalogTable): SchemaProblem {
  const object = `table ${fullName(expected)}`;
  const what = relkind === 'r' || relkind === 'p' ? 'is another table than ours' : 'is no table';
  const advice =
    "An `export const jobs` of the app's own hides ours behind `export *`: put ours into a schema of its own with queueTables({ schema: pgSchema('work') }), and give `tables` to createQueue and createWorker";
  return problem('TABLE_NOT_OURS', 'error', object, `The ${object} ${what}`, migrate, advice);
}
