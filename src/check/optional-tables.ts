/**
 * The tables that are for one feature each. A queue works without them, for whom does not use those: what is wrong with them
 * is a warning.
 */
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Executor } from '../database/executor.js';
import type { QueueTables } from '../database/tables.js';
import { type Catalog, readCatalog } from '../sql/catalog.js';
import { accessProblems } from './access.js';
import { fullName } from './ddl.js';
import { type ExpectedTable, expectedTable } from './expected.js';
import { limitsNeeds, type Need, type QueueRole, throttleNeeds } from './needs.js';
import { problem, type SchemaProblem } from './problem.js';
import { structureProblems } from './structure.js';

interface OptionalTable {
  /** What it is called where the app exports it. */
  readonly exported: string;
  readonly table: PgTable | undefined;
  /** What fails without it. */
  readonly feature: string;
  readonly needs: { readonly [Role in QueueRole]: readonly Need[] };
}

/** Of those that the app has given. A statement for each. */
export async function optionalTablesProblems(
  db: Executor,
  { jobThrottle, jobLimits }: QueueTables,
  role: QueueRole,
): Promise<SchemaProblem[]> {
  const optional: readonly OptionalTable[] = [
    {
      exported: 'jobThrottle',
      table: jobThrottle,
      feature: "`onDuplicate: 'throttle'`",
      needs: throttleNeeds,
    },
    { exported: 'jobLimits', table: jobLimits, feature: '`queue.pause`', needs: limitsNeeds },
  ];
  const missing: Missing[] = [];
  const problems: SchemaProblem[] = [];
  for (const { table, needs, ...rest } of optional) {
    if (!table) continue;
    const expected = expectedTable(table);
    const catalog = await readCatalog(db, expected.schema, expected.name);
    if (catalog.table) problems.push(...tableProblems(expected, catalog, needs[role]));
    else missing.push({ ...rest, expected });
  }
  return [...(missing.length > 0 ? [missingTables(missing)] : []), ...problems];
}

function tableProblems(expected: ExpectedTable, catalog: Catalog, needs: readonly Need[]): SchemaProblem[] {
  if (!catalog.table) return [];
  // Of its schema the check of the jobs table tells.
  const access = accessProblems(expected, { ...catalog, schemaUsage: true }, catalog.table, needs);
  return [...structureProblems(expected, catalog.table), ...access].map((one) => ({
    ...one,
    severity: 'warning',
  }));
}

type Missing = Pick<OptionalTable, 'exported' | 'feature'> & { readonly expected: ExpectedTable };

/** One for all of them: they come by the same migration. */
function missingTables(missing: readonly Missing[]): SchemaProblem {
  const one = missing.length === 1;
  const names = missing.map(({ expected }) => fullName(expected));
  const object = `${one ? 'table' : 'tables'} ${names.join(', ')}`;
  const features = missing.map(({ feature }) => feature).join(' and ');
  const wrong = one
    ? `There is no ${object}, without which ${features} fails`
    : `There are no ${object}, without which ${features} fail`;
  const run = ['npx drizzle-kit generate', 'npx drizzle-kit migrate'];
  const exported = missing.map((table) => `\`${table.exported}\``).join(' and ');
  const advice = `Run: ${run.join(' && ')}. Where they do not make ${one ? 'it' : 'them'}, the app's schema file does not export ${exported}. To do without, give createQueue and createWorker the \`tables\` that there are`;
  return problem('TABLE_MISSING', 'warning', object, wrong, run, advice);
}
