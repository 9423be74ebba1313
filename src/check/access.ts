/** What the role may do with the table: rights, and row-level security that would hide rows without a word. */

import type { Catalog, CatalogColumn, CatalogTable } from '../sql/catalog.js';
import { quotedName } from '../sql/storage.js';
import { fullName } from './ddl.js';
import type { ExpectedTable } from './expected.js';
import type { Need } from './needs.js';
import { problem, type SchemaProblem } from './problem.js';

export function accessProblems(
  expected: ExpectedTable,
  { role, schemaUsage }: Catalog,
  live: CatalogTable,
  needs: readonly Need[],
): SchemaProblem[] {
  const to = quotedName(role);
  const problems: SchemaProblem[] = [];
  if (schemaUsage === false) {
    const object = `schema ${quotedName(expected.schema)}`;
    const run = [`grant usage on ${object} to ${to}`];
    problems.push(problem('RIGHT_MISSING', 'error', object, `The role ${to} may not use ${object}`, run));
  }
  for (const need of needs) {
    const missing = missingRight(need, live);
    if (missing !== undefined) {
      const object = `table ${fullName(expected)}`;
      const wrong = `The role ${to} lacks the right ${missing} on ${object}`;
      const run = [`grant ${missing} on ${fullName(expected)} to ${to}`];
      problems.push(problem('RIGHT_MISSING', 'error', object, wrong, run));
    }
    if (live.rowSecurity && !live.policies.includes(need.command))
      problems.push(noPolicy(expected, need, role));
  }
  return problems;
}

/** As `grant` takes it: `select`, `insert ("queue", "kind")`. */
function missingRight({ command, columns, whole }: Need, live: CatalogTable): string | undefined {
  if (command === 'delete') return live.mayDelete ? undefined : 'delete';
  const has = ({ rights }: CatalogColumn): boolean => rights.includes(command);
  const missing = live.columns.filter(
    (column) => !has(column) && (!columns || columns.includes(column.name)),
  );
  if (missing.length === 0) return undefined;
  return columns && !whole ? `${command} (${columns.map((name) => quotedName(name)).join(', ')})` : command;
}

function noPolicy(table: ExpectedTable, { command }: Need, role: string): SchemaProblem {
  const object = `table ${fullName(table)}`;
  const to = quotedName(role);
  const wrong = `Row-level security of ${object} has no policy that lets the role ${to} ${command}`;
  const condition = {
    select: 'using (true)',
    delete: 'using (true)',
    insert: 'with check (true)',
    update: 'using (true) with check (true)',
  };
  const policy = quotedName(`queue_${command}_${role}`); // another role of the queue has policies of its own
  const run = [`create policy ${policy} on ${fullName(table)} for ${command} to ${to} ${condition[command]}`];
  return problem('POLICY_MISSING', 'error', object, wrong, run);
}
