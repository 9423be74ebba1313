/**
 * What the roles of the README may not do: an app that only enqueues reads nothing, a reader writes nothing, a person makes
 * no jobs.
 */

import { sql as raw } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import type { QueueRole } from '../../src/check/needs.js';
import { rows } from '../../src/database/rows.js';
import { sqlState } from '../../src/database/sqlstate.js';
import { given, verbatim } from '../support/jobs.js';
import { inLimits, moves } from './moves.js';
import { readmeNames, readmeSql, titles } from './readme.js';
import { useRoles } from './stage.js';

const roles = useRoles();
const queueRoles = Object.keys(titles) as QueueRole[];
let id: number;

beforeEach(async () => {
  for (const role of queueRoles) {
    await roles.run(`revoke all on public.jobs from ${readmeNames[role]}; ${readmeSql(titles[role])}`);
  }
  await roles.sql`delete from jobs`;
  id = await given(roles.sql).available({ payload: { card: '4111' } });
});

const set = (column: string, value: string) => `update jobs set ${column} = ${value}`;
const insert = (column: string, value: string) =>
  `insert into jobs (kind, ${column}) overriding system value values ('greet', ${value})`;

/** Every one is a statement that a superuser can run. */
const forbidden: { readonly [Role in QueueRole]: readonly string[] } = {
  enqueuer: [
    'select * from jobs',
    'select payload from jobs',
    "select id from jobs where queue = 'default'",
    'select id from jobs for update',
    "insert into jobs (kind, payload) values ('greet', '{}') returning payload",
    "insert into jobs (kind, payload) values ('greet', '{}') on conflict (id) do update set kind = 'other'",
    insert('id', '-1'),
    insert('attempts', '3'),
    insert('again', `'{"a": 1}'`),
    set('priority', '100'),
    set('run_at', "now() + interval '1 year'"),
    'delete from jobs where id > 0',
    'truncate jobs',
    "select nextval('jobs_id_seq')",
    'create index on jobs (kind)',
  ],
  worker: [
    "insert into jobs (kind) values ('greet')",
    set('kind', "'other'"),
    set('payload', "'{}'"),
    set('queue', "'other'"),
    set('priority', '100'),
    set('max_attempts', '100'),
    set('timeout_s', '100'),
    'truncate jobs',
    "select nextval('jobs_id_seq')",
    'drop table jobs',
  ],
  reader: [
    "insert into jobs (kind) values ('greet')",
    set('run_at', 'now()'),
    'delete from jobs',
    'truncate jobs',
    'select id from jobs for update',
    'select id from jobs for key share',
    "select nextval('jobs_id_seq')",
  ],
  operator: [
    "insert into jobs (kind) values ('greet')",
    set('kind', "'other'"),
    set('queue', "'other'"),
    set('priority', '100'),
    set('max_attempts', '100'),
    set('last_error', "'none'"),
    set('dedupe_key', "'other'"),
    'truncate jobs',
    "select nextval('jobs_id_seq')",
  ],
};

describe.each(Object.entries(forbidden))('%s may not', (role, statements) => {
  it.each(statements)('%s', async (statement) => {
    const before = await verbatim(roles.sql, id);
    await expect(refusal(role as QueueRole, statement)).resolves.toBe('42501');
    expect(await verbatim(roles.sql, id)).toBe(before);

    // The right is what was missing, not a comma.
    const undone = roles.sql.begin(async (tx) => {
      await tx.unsafe(statement);
      throw new Error('undo');
    });
    await expect(undone).rejects.toThrow('undo');
  });
});

const others: readonly [actor: QueueRole, of: QueueRole][] = [
  ['enqueuer', 'worker'],
  ['enqueuer', 'reader'],
  ['worker', 'enqueuer'],
  ['reader', 'worker'],
  ['reader', 'enqueuer'],
  ['operator', 'enqueuer'],
];
it.each(others)('%s makes no move of the %s', async (actor, of) => {
  for (const [name, move] of Object.entries(moves[of])) {
    if (name === 'session') continue; // needs no right
    if (actor === 'enqueuer' && name === 'counts') continue; // it sees the states of the jobs, for their dedupe keys
    if (actor === 'reader' && name === inLimits) continue; // it may know as well
    await expect(move(roles, actor).catch(sqlState), name).resolves.toBe('42501');
  }
});

it('lets a role that works enqueue as well, with the grants of both', async () => {
  await roles.run(readmeSql(titles.enqueuer).replaceAll('to web', 'to worker'));
  for (const move of Object.values(moves.enqueuer)) await expect(move(roles, 'worker')).resolves.toBe(true);
});

it('keeps payloads from a reader that is granted other columns, as long as its queries name them', async () => {
  const { jobs } = roles.tables;
  await roles.run(
    'revoke select on public.jobs from reader; grant select (id, kind, state) on public.jobs to reader',
  );
  const db = roles.as('reader');
  const named = db.select({ id: jobs.id, kind: jobs.kind, state: jobs.state }).from(jobs);
  await expect(named).resolves.toEqual([{ id, kind: 'greet', state: 'available' }]);
  await expect(db.select().from(jobs).catch(sqlState)).resolves.toBe('42501');
});

async function refusal(role: QueueRole, statement: string): Promise<string | undefined> {
  return rows(roles.as(role), raw.raw(statement)).then(() => 'no refusal', sqlState);
}
