/**
 * Plans of the very statements that the library sends: recorded from its executor, prepared by name, really run,
 * and rolled back.
 */
import type { SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Sql } from 'postgres';
import type { Executor } from '../../src/database/executor.js';

/** How Postgres plans a prepared statement: for these values, or once for all values (from the sixth run on). */
export const planModes = ['force_custom_plan', 'force_generic_plan'] as const;
export type PlanMode = (typeof planModes)[number];

export type PlanNode = {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Subplan Name'?: string;
  'Total Cost': number;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
};
export type Explained = { Plan: PlanNode; JIT?: unknown };

/** The statement that `run` sends, which is not executed: `run` sees an answer without rows. */
export async function recorded(run: (db: Executor) => Promise<unknown>): Promise<SQL> {
  const sent: SQL[] = [];
  await run({
    execute: async (statement: SQL) => {
      sent.push(statement);
      return [];
    },
    transaction: () => Promise.reject(new Error('A statement needs no transaction.')),
  });
  const [statement] = sent;
  if (!statement || sent.length > 1) throw new Error(`Expected one statement, got ${sent.length}.`);
  return statement;
}

/** Explains it with JIT as a server that has it would: on, and with the default limits of its cost. */
export async function explain(sql: Sql, mode: PlanMode, statement: SQL): Promise<Explained> {
  const { sql: text, params } = new PgDialect().sqlToQuery(statement);
  const session = await sql.reserve();
  try {
    await session.unsafe(
      `begin; set local plan_cache_mode = ${mode}; set local jit = on; prepare sent as ${text}`,
    );
    const values = params.length > 0 ? `(${params.map(literal).join(', ')})` : '';
    // Once for nothing: the first update of a session after a load also looks for pages with room.
    await session.unsafe(`savepoint warm; execute sent${values}; rollback to warm`);
    const [answer] = await session.unsafe<{ 'QUERY PLAN': Explained[] }[]>(
      `explain (analyze, buffers, format json) execute sent${values}`,
    );
    const [explained] = answer?.['QUERY PLAN'] ?? [];
    if (!explained) throw new Error('Explain gave no plan.');
    return explained;
  } finally {
    await session.unsafe('rollback; deallocate all');
    session.release();
  }
}

function literal(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? `'{}'` : `array[${value.map(literal).join(', ')}]`;
  return typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`;
}

/** Every node of the plan, whatever it hangs below. */
export function nodes(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)];
}

/** The part of a plan that fills a CTE. */
export function cte(plan: PlanNode, name: string): PlanNode {
  const found = nodes(plan).find((node) => node['Subplan Name'] === `CTE ${name}`);
  if (!found) throw new Error(`The plan has no CTE ${name}.`);
  return found;
}

/** The pages that a node and those below it looked at. */
export function buffers(node: PlanNode): number {
  return node['Shared Hit Blocks'] + node['Shared Read Blocks'];
}

/** How many rows all nodes together looked at, whether they passed them on or not. */
export function rowsSeen(plan: PlanNode): number {
  return nodes(plan).reduce((sum, node) => {
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
    return sum + (node['Actual Rows'] + removed) * node['Actual Loops'];
  }, 0);
}
