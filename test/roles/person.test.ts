/** The rights that a person's moves need: each of these is enough with the others, and missed when it is taken away. */
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { outcomes, personsMoves } from './moves.js';
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

beforeAll(() =>
  roles.run(`grant usage on schema public to reader;
    grant select, insert (scope, name), delete on public.job_limits to reader`),
);
beforeEach(async () => {
  await roles.run(
    `revoke all on public.jobs from reader; grant ${rights.join(', ')} on public.jobs to reader`,
  );
});

/** How each move of a person went. */
async function moveAll(): Promise<Set<string>> {
  const found = await outcomes(roles, 'operator', 'reader');
  return new Set(Object.keys(personsMoves).map((name) => found[name] ?? 'not made'));
}

it('are enough together', async () => {
  expect(await moveAll()).toEqual(new Set(['done']));
});

it.each(rights)('%s is needed', async (right) => {
  await roles.run(`revoke ${right} on public.jobs from reader`);
  expect(await moveAll()).toContain('42501');
});
