/**
 * The table behind `onDuplicate: 'throttle'`. A queue works without it, for whom does not use that: what is wrong with it is
 * a warning.
 */
import type { Executor } from '../database/executor.js';
import type { JobThrottleTable } from '../database/tables.js';
import { type Catalog, readCatalog } from '../sql/catalog.js';
import { accessProblems } from './access.js';
import { fullName } from './ddl.js';
import { type ExpectedTable, expectedTable } from './expected.js';
import { type QueueRole, throttleNeeds } from './needs.js';
import { problem, type SchemaProblem } from './problem.js';
import { structureProblems } from './structure.js';

export async function throttleProblems(
  db: Executor,
  table: JobThrottleTable,
  role: QueueRole,
): Promise<SchemaProblem[]> {
  const expected = expectedTable(table);
  const catalog = await readCatalog(db, expected.schema, expected.name);
  return problems(expected, catalog, role).map((one) => ({ ...one, severity: 'warning' }));
}

function problems(expected: ExpectedTable, catalog: Catalog, role: QueueRole): SchemaProblem[] {
  const { table } = catalog;
  if (!table) return [missingTable(expected)];
  // Of its schema the check of the jobs table tells.
  const access = accessProblems(expected, { ...catalog, schemaUsage: true }, table, throttleNeeds[role]);
  return [...structureProblems(expected, table), ...access];
}

function missingTable(expected: ExpectedTable): SchemaProblem {
  const object = `table ${fullName(expected)}`;
  const wrong = `There is no ${object}, without which \`onDuplicate: 'throttle'\` fails`;
  const run = ['npx drizzle-kit generate', 'npx drizzle-kit migrate'];
  const advice = `Run: ${run.join(' && ')}. Where they do not make it, the app's schema file does not export \`jobThrottle\`. To do without it, give createQueue and createWorker \`tables: { jobs }\``;
  return problem('TABLE_MISSING', 'warning', object, wrong, run, advice);
}
