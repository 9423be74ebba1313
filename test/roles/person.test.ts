/** The rights that a person's moves need: each of these is enough with the others, and missed when it is taken away. */
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { createQueue } from '../../src/queue/queue.js';
import { given } from '../support/jobs.js';
import { registry } from './moves.js';
import { useRoles } from './stage.js';

const roles = useRoles();
const rights = [
  ...['id', 'queue', 'kind', 'run_at', 'state', 'last_error', 'dedupe_key', 'finished_at'].map(
    (column) => `select (${column})`,
  ),
  ...['state', 'attempts', 'run_at', 'payload', 'locked_by', 'heartbeat_at', 'started_at', 'finished_at'].map(
    (column) => `update (${column})`,
  ),
  'delete',
];

beforeAll(() => roles.run('grant usage on schema public to reader'));
beforeEach(async () => {
  await roles.run(
    `revoke all on public.jobs from reader; grant ${rights.join(', ')} on public.jobs to reader`,
  );
});

/** Every move; how each went, by SQLSTATE where it was refused. */
async function moveAll(): Promise<unknown[]> {
  const queue = createQueue(registry, { tables: roles.tables });
  const db = roles.as('reader');
  const waiting = () => given(roles.sql).available();
  const made = [
    queue.cancel(db, await waiting()),
    queue.cancel(db, await given(roles.sql).running()),
    queue.replay(db, await given(roles.sql).discarded({ dedupeKey: `key ${Math.random()}` })),
    queue.reschedule(db, await waiting(), { delayMs: 1_000 }),
    queue.update(db, 'greet', await waiting(), { tenant: 'b' }),
    queue.remove(db, await waiting()),
  ];
  await given(roles.sql).discarded();
  const found = queue.replay(db, { errorMatches: 'luck', kind: 'greet', limit: 1 }).then(([first]) => first);
  const settled = await Promise.allSettled([...made, found]);
  return settled.map((each) => (each.status === 'fulfilled' ? each.value?.result : sqlState(each.reason)));
}

it('are enough together', async () => {
  expect(new Set(await moveAll())).toEqual(new Set(['done']));
});

it.each(rights)('%s is needed', async (right) => {
  await roles.run(`revoke ${right} on public.jobs from reader`);
  expect(new Set(await moveAll())).toContain('42501');
});
