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
  ...[
    'state',
    'attempts',
    'run_at',
    'payload',
    'payload_version',
    'locked_by',
    'heartbeat_at',
    'started_at',
    'finished_at',
    'again',
    'result',
  ].map((column) => `update (${column})`),
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
  const { available, running, discarded } = given(roles.sql);
  await roles.sql`delete from jobs`;
  const moves = [
    async () => queue.cancel(db, await available()),
    async () => queue.cancel(db, await running()),
    async () => queue.replay(db, await discarded({ dedupeKey: 'one' })),
    async () => queue.reschedule(db, await available(), { delayMs: 1_000 }),
    async () => queue.update(db, 'greet', await available(), { tenant: 'b' }),
    async () => queue.remove(db, await available()),
    async () => {
      const id = await discarded();
      const found = await queue.replay(db, { errorMatches: 'luck', kind: 'greet' });
      return found.find((answer) => answer.id === id);
    },
  ];
  const results: unknown[] = [];
  for (const move of moves) results.push(await move().then((answer) => answer?.result, sqlState));
  return results;
}

it('are enough together', async () => {
  expect(new Set(await moveAll())).toEqual(new Set(['done']));
});

it.each(rights)('%s is needed', async (right) => {
  await roles.run(`revoke ${right} on public.jobs from reader`);
  expect(new Set(await moveAll())).toContain('42501');
});
