/**
 * Policies become conditions of every statement; those that the README advises for a worker leave a claim its index. With
 * one on the payload it reads and sorts every waiting job of a priority.
 */
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { claimStatement } from '../../src/sql/claim.js';
import { fill } from '../support/jobs.js';
import { explain, nodes, planModes, rowsSeen } from '../support/plans.js';
import { readmeSql, titles } from './readme.js';
import { useRoles } from './stage.js';

const roles = useRoles();
const policies = ['true', "queue = 'default'"];

beforeAll(async () => {
  await roles.run(readmeSql(titles.worker));
  await roles.run('alter table public.jobs enable row level security');
  await fill(roles.sql).available(20_000, { priority: roles.sql`i % 3`, payload: { tenant: 'a' } });
  await roles.sql`analyze jobs`;
});
beforeEach(() => roles.run('drop policy if exists worker_works on public.jobs'));

it.each(policies.flatMap((using) => planModes.map((mode) => ({ using, mode }))))(
  'using ($using), $mode',
  async ({ using, mode }) => {
    await roles.run(`create policy worker_works on public.jobs to worker using (${using})`);
    const request = { want: new Map([['default', 10]]), kinds: ['greet'], lockedBy: 'worker/1' };
    const { Plan } = await explain(roles.as('worker').$client, mode, claimStatement(roles.table, request));
    expect(nodes(Plan).map((node) => node['Node Type'])).not.toContain('Seq Scan');
    expect(rowsSeen(Plan)).toBeLessThan(2_000);
  },
);
