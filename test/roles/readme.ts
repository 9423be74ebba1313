/** The SQL of the README's section "Roles", by the title in the first line of each block, and what it is made of. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QueueRole } from '../../src/check/needs.js';

export const titles: { readonly [Role in QueueRole]: string } = {
  enqueuer: 'an app that only enqueues',
  worker: 'a worker',
  reader: 'a reader',
  operator: 'a person who moves jobs',
};

/** What the README calls the roles in its SQL. */
export const readmeNames: { readonly [Role in QueueRole]: string } = {
  enqueuer: 'web',
  worker: 'worker',
  reader: 'reader',
  operator: 'operator',
};

/** The block without its title. */
export function readmeSql(title: string): string {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  const section = /^## Roles\n(.*?)^## /ms.exec(readme)?.[1] ?? '';
  for (const [, found, code] of section.matchAll(/^```sql\n-- ([^\n]+)\n(.*?)^```$/gms)) {
    if (found === title && code) return code;
  }
  throw new Error(`The section Roles of the README has no block of SQL that begins with "-- ${title}".`);
}

/** One right on one thing, as `grant` and `revoke` name it. */
export interface Grant {
  /** `select on public.jobs`, `insert (queue) on public.jobs`. */
  readonly right: string;
}

/** The single rights that a block grants: column by column where it names columns. */
export function grantsIn(block: string): Grant[] {
  const grants: Grant[] = [];
  for (const statement of statementsIn(block)) {
    const [, rights = '', object] = /^grant (.+) on (.+) to \w+$/.exec(statement) ?? [];
    if (!object) throw new Error(`Expected "grant … on … to …", got: ${statement}`);
    for (const [, privilege, columns] of rights.matchAll(/(\w+)(?: \(([^)]+)\))?(?:, |$)/g)) {
      const names = columns?.split(', ').map((column) => `${privilege} (${column})`) ?? [privilege];
      for (const name of names) grants.push({ right: `${name} on ${object}` });
    }
  }
  return grants;
}

/** The names of the policies that a block creates. */
export function policiesIn(block: string): string[] {
  return [...block.matchAll(/^create policy (\w+) /gm)].map(([, name = '']) => name);
}

function statementsIn(block: string): string[] {
  const code = block.replace(/--[^\n]*/g, '').replace(/\s+/g, ' ');
  return code
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean);
}
