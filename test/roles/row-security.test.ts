/**
 * Row-level security: with the policies of the README every role makes its moves, each policy is needed, and what happens
 * without them is silence, except for those who enqueue.
 */
import { sql as raw } from 'drizzle-orm';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { QueueRole } from '../../src/check/needs.js';
import { sqlState } from '../../src/database/sqlstate.js';
import { createQueue } from '../../src/queue/queue.js';
import { untilServerHasRunFor } from '../support/jobs.js';
import * as moves from './moves.js';
import { policiesIn, readmeNames, readmeSql, titles } from './readme.js';
import { type Actor, type Roles, useRoles } from './stage.js';

const roles = useRoles();
const queueRoles = Object.keys(titles) as QueueRole[];
const policies = readmeSql('row-level security');
const withPolicies = queueRoles.filter((role) => policies.includes(` to ${readmeNames[role]} `));
const enable = 'alter table public.jobs enable row level security';
const { missing, registry } = moves;

/** Of the moves in the jobs table, whose rows these tests are about. */
function inJobs(found: moves.Outcomes): moves.Outcomes {
  return Object.fromEntries(Object.entries(found).filter(([name]) => !moves.elsewhere.includes(name)));
}
const outcomes = async (of: Roles, role: QueueRole, actor: Actor = role): Promise<moves.Outcomes> =>
  inJobs(await moves.outcomes(of, role, actor));
const all = (role: QueueRole, outcome: string, except: moves.Outcomes = {}): moves.Outcomes =>
  inJobs(moves.all(role, outcome, except));

beforeAll(async () => {
  await untilServerHasRunFor(roles.sql, 1.5);
  for (const title of Object.values(titles)) await roles.run(readmeSql(title));
});
beforeEach(async () => {
  await roles.sql`alter table jobs no force row level security, disable row level security, owner to current_user`;
  await roles.sql`alter table job_throttle owner to current_user`;
  await roles.sql`alter table job_limits owner to current_user`;
  for (const { name } of await roles.sql`select polname as name from pg_policy`) {
    await roles.sql`drop policy ${roles.sql(name)} on jobs`;
  }
});

describe('without policies', () => {
  beforeEach(() => roles.run(enable));

  it('an enqueue is refused', async () => {
    expect(await outcomes(roles, 'enqueuer')).toEqual(all('enqueuer', '42501'));
  });

  it('a worker finds nothing to do, and no move of it has an effect or fails', async () => {
    expect(await outcomes(roles, 'worker')).toEqual(all('worker', 'nothing', { session: 'done' }));
  });

  it.each(['reader', 'operator'] as const)('the %s sees no rows', async (role) => {
    expect(await outcomes(roles, role)).toEqual(all(role, 'nothing'));
  });

  it.each(queueRoles)(
    'checkSchema names each that the %s needs, and what it gives out to run is enough',
    async (role) => {
      const commands = { enqueuer: 2, worker: 3, reader: 1, operator: 3 };
      const problems = await missing(roles, role);
      expect(problems.map(({ code }) => code)).toEqual(Array(commands[role]).fill('POLICY_MISSING'));
      for (const statement of problems.flatMap(({ run }) => run)) await roles.sql.unsafe(statement);
      expect(await outcomes(roles, role)).toEqual(all(role, 'done'));
    },
  );

  it('what checkSchema gives out for one role stands beside what it gives out for another', async () => {
    for (const role of queueRoles) {
      for (const statement of (await missing(roles, role)).flatMap(({ run }) => run)) {
        await roles.sql.unsafe(statement);
      }
    }
    for (const role of queueRoles) expect(await outcomes(roles, role)).toEqual(all(role, 'done'));
  });
});

describe('with the policies of the README', () => {
  beforeEach(() => roles.run(policies));

  it.each(withPolicies)('the %s makes every move', async (role) => {
    expect(await outcomes(roles, role)).toEqual(all(role, 'done'));
    expect(await missing(roles, role)).toEqual([]);
  });

  it.each(policiesIn(policies))('%s is needed', async (policy) => {
    await roles.run(`drop policy ${policy} on public.jobs`);
    const failing: QueueRole[] = [];
    for (const role of withPolicies) {
      if (Object.values(await outcomes(roles, role)).some((outcome) => outcome !== 'done'))
        failing.push(role);
    }
    expect(failing).toHaveLength(1);
    for (const role of failing) expect(await missing(roles, role)).not.toEqual([]);
  });
});

describe('a worker with policies for some commands only', () => {
  const policyFor = (command: string) =>
    `create policy for_${command} on public.jobs for ${command} to worker using (true)`;

  it('leaves completed jobs where they are when it may delete none', async () => {
    await roles.run([enable, ...['select', 'update'].map(policyFor)].join(';'));
    const exceptions = { complete: 'nothing', 'complete(tx)': 'nothing' }; // those that keep their rows update them
    expect(await outcomes(roles, 'worker')).toEqual(all('worker', 'done', exceptions));
    expect(await missing(roles, 'worker')).toMatchObject([{ message: expect.stringContaining('delete') }]);
  });

  it.each(['select', 'update'])('can do nothing without one for %s', async (command) => {
    const given = ['select', 'update', 'delete'].filter((other) => other !== command);
    await roles.run([enable, ...given.map(policyFor)].join(';'));
    // A delete needs no right to update; it does need to see the row.
    const exceptions = { session: 'done', ...(command === 'update' ? { 'complete(tx)': 'done' } : {}) };
    expect(await outcomes(roles, 'worker')).toEqual(all('worker', 'nothing', exceptions));
    expect(await missing(roles, 'worker')).toMatchObject([{ message: expect.stringContaining(command) }]);
  });
});

it('a worker with BYPASSRLS needs no policy', async () => {
  await roles.run(enable);
  await roles.run(readmeSql('a worker without a policy'));
  try {
    expect(await outcomes(roles, 'worker')).toEqual(all('worker', 'done'));
    expect(await missing(roles, 'worker')).toEqual([]);
  } finally {
    await roles.run('alter role worker nobypassrls');
  }
});

describe("the table's owner", () => {
  beforeEach(async () => {
    await roles.sql.unsafe(`
      grant usage on schema public to ${roles.name('owner')};
      alter table jobs owner to ${roles.name('owner')}, enable row level security;
      alter table job_throttle owner to ${roles.name('owner')};
      alter table job_limits owner to ${roles.name('owner')}`);
  });

  it.each(queueRoles)('makes every move of the %s without grants and policies', async (role) => {
    expect(await outcomes(roles, role, 'owner')).toEqual(all(role, 'done'));
    expect(await missing(roles, role, 'owner')).toEqual([]);
  });

  it.each(queueRoles)('needs a policy of its own for the moves of the %s once it is forced', async (role) => {
    await roles.sql`alter table jobs force row level security`;
    expect(Object.values(await outcomes(roles, role, 'owner'))).toContain(
      role === 'enqueuer' ? '42501' : 'nothing',
    );
    expect(await missing(roles, role, 'owner')).not.toEqual([]);

    await roles.sql.unsafe(`create policy owner_works on jobs to ${roles.name('owner')} using (true)`);
    expect(await outcomes(roles, role, 'owner')).toEqual(all(role, 'done'));
    expect(await missing(roles, role, 'owner')).toEqual([]);
  });
});

describe('policies that keep tenants apart', () => {
  const { enqueue, enqueueMany } = createQueue(registry, { tables: roles.tables, requireTransaction: true });

  beforeEach(async () => {
    await roles.run(policies);
    await roles.run(
      policiesIn(readmeSql('tenants'))
        .map((name) => `drop policy ${name} on public.jobs`)
        .join(';'),
    );
    await roles.run(readmeSql('tenants'));
    await roles.sql`delete from jobs`;
  });

  it('let a transaction enqueue for the tenant that it names, and for no other', async () => {
    await asTenant('a', (tx) => enqueue(tx, 'greet', { tenant: 'a' }));
    await asTenant('b', (tx) => enqueueMany(tx, [{ kind: 'greet', payload: { tenant: 'b' } }]));
    const refused = [
      asTenant('a', (tx) => enqueue(tx, 'greet', { tenant: 'b' })),
      asTenant('a', (tx) =>
        enqueueMany(tx, [
          { kind: 'greet', payload: { tenant: 'a' } },
          { kind: 'greet', payload: { tenant: 'b' } },
        ]),
      ),
      roles.as('enqueuer').transaction((tx) => enqueue(tx, 'greet', { tenant: 'a' })),
    ];
    const codes = await Promise.all(refused.map((enqueued) => enqueued.catch(sqlState)));
    expect(codes).toEqual(['42501', '42501', '42501']);

    const kept = await roles.sql`select payload ->> 'tenant' as tenant from jobs order by id`;
    expect([...kept]).toEqual([{ tenant: 'a' }, { tenant: 'b' }]);
  });

  it('show a tenant the ids of its own jobs', async () => {
    const { id } = await asTenant('a', (tx) => enqueue(tx, 'greet', { tenant: 'a' }));
    await asTenant('b', (tx) => enqueue(tx, 'greet', { tenant: 'b' }));
    const { jobs } = roles.tables;
    const seen = await asTenant('a', (tx) => tx.select({ id: jobs.id }).from(jobs));
    expect(seen).toEqual([{ id }]);
  });

  it('do not keep dedupe keys apart: one that a hidden job holds is refused, so keys name the tenant', async () => {
    const keyed = (tenant: string, dedupeKey: string) =>
      asTenant(tenant, (tx) => enqueue(tx, 'greet', { tenant }, { dedupeKey }));
    const { id } = await keyed('a', 'k');
    expect(await keyed('a', 'k')).toEqual({ id, duplicate: true });
    await expect(keyed('b', 'k')).rejects.toMatchObject({
      code: 'DUPLICATE_NOT_SEEN',
      data: { kind: 'greet', dedupeKey: 'k', tries: 10 },
    });
    expect((await keyed('b', 'b k')).duplicate).toBe(false);
  });

  it('leave the worker everything', async () => {
    expect(await outcomes(roles, 'worker')).toEqual(all('worker', 'done'));
  });

  type Tx = Parameters<Parameters<ReturnType<typeof roles.as>['transaction']>[0]>[0];
  function asTenant<Result>(tenant: string, work: (tx: Tx) => Promise<Result>): Promise<Result> {
    return roles.as('enqueuer').transaction(async (tx) => {
      await tx.execute(raw`select set_config('app.tenant', ${tenant}, true)`);
      return work(tx);
    });
  }
});
