/**
 * The grants of the README are enough for every move of each role, and each of them is needed: one taken away makes a
 * move fail, and `checkSchema` names it.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { needs, type QueueRole } from '../../src/check/needs.js';
import { untilServerHasRunFor } from '../support/jobs.js';
import { all, missing, outcomes } from './moves.js';
import { type Grant, grantsIn, readmeNames, readmeSql, titles } from './readme.js';
import { type Roles, useRoles } from './stage.js';

const queueRoles = Object.keys(titles) as QueueRole[];

describe.each(['public', 'work'])('with the table in the schema %s', (schema) => {
  const roles = useRoles(schema);
  beforeAll(async () => {
    await untilServerHasRunFor(roles.sql, 1.5);
    for (const title of Object.values(titles)) await roles.run(readmeSql(title));
  });

  describe.each(queueRoles)('%s', (role) => {
    it('makes every move with the grants of the README', async () => {
      expect(await outcomes(roles, role)).toEqual(all(role, 'done'));
      expect(await missing(roles, role)).toEqual([]);
    });

    it('has no right on the sequence behind the id', async () => {
      const { sql } = roles;
      const [found] = await sql`
        select has_sequence_privilege(${roles.name(role)}, pg_get_serial_sequence('jobs', 'id'), 'usage, select, update') as has`;
      expect(found).toEqual({ has: false });
    });

    const block = readmeSql(titles[role]);
    // A schema changes nothing about the rights on its tables: once is enough for those.
    const grants = grantsIn(block).filter(({ right }) => schema === 'public' || right.startsWith('usage'));
    it.each(grants)('needs $right', (grant) => expectNeeded(roles, role, block, grant));
  });
});

describe('a worker that may read only the columns its statements name', () => {
  const roles = useRoles();
  const columns = needs.worker.find(({ command }) => command === 'select')?.columns ?? [];
  const block = readmeSql(titles.worker).replace('select, ', `select (${columns.join(', ')}), `);
  beforeAll(async () => {
    await untilServerHasRunFor(roles.sql, 1.5);
    await roles.run(block);
  });

  it('makes every move', async () => {
    expect(await outcomes(roles, 'worker')).toEqual(all('worker', 'done'));
    expect(await missing(roles, 'worker')).toEqual([]);
  });

  it.each(grantsIn(block).filter(({ right }) => right.startsWith('select')))('needs $right', (grant) =>
    expectNeeded(roles, 'worker', block, grant),
  );
});

async function expectNeeded(roles: Roles, role: QueueRole, block: string, { right }: Grant): Promise<void> {
  const name = readmeNames[role];
  await roles.run(`revoke ${right} from ${name}`);
  try {
    const refusals = Object.values(await outcomes(roles, role)).filter((outcome) => outcome !== 'done');
    expect(refusals).not.toEqual([]);
    // Drizzle's own queries do not name the schema public, and without its usage nothing in it is on the search_path.
    const reads = role === 'reader' || role === 'operator';
    const codes = reads && right.startsWith('usage') ? ['42501', '42P01'] : ['42501'];
    for (const refusal of refusals) expect(codes).toContain(refusal);

    const problems = await missing(roles, role);
    const severity = /job_(throttle|limits)$/.test(right) ? 'warning' : 'error';
    expect(problems).toEqual([expect.objectContaining({ code: 'RIGHT_MISSING', severity })]);
    for (const statement of problems.flatMap(({ run }) => run)) await roles.sql.unsafe(statement);
    expect(await outcomes(roles, role)).toEqual(all(role, 'done'));
  } finally {
    await roles.run(
      `revoke all on public.jobs, public.job_throttle, public.job_limits from ${name}; ${block}`,
    );
  }
}
