/** An app whose enqueues ask for one more run, or throttle, needs more than one that only adds jobs: what the README grants it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { createQueue } from '../../src/queue/queue.js';
import { given, row } from '../support/jobs.js';
import { registry } from './moves.js';
import { grantsIn, policiesIn, readmeSql, titles } from './readme.js';
import { useRoles } from './stage.js';

const roles = useRoles();
const replacing = readmeSql("an app that only enqueues, also with onDuplicate: 'replace' or 'debounce'");
const again = readmeSql(
  "an app that only enqueues, also with onDuplicate: 'again': this and the two blocks above",
);
const throttling = readmeSql(
  "an app that only enqueues, also with onDuplicate: 'throttle': this and the first block",
);
const queue = createQueue(registry, { tables: roles.tables });

/** True when it went as wanted, or how it was refused. */
async function outcome(work: () => Promise<boolean>): Promise<boolean | string> {
  return work().catch((error: unknown) => {
    const refused = sqlState(error);
    if (refused === undefined) throw error;
    return refused;
  });
}

const revoke = 'revoke all on public.jobs, public.job_throttle from web;';

describe('again', () => {
  beforeEach(() => roles.run(`${revoke} ${readmeSql(titles.enqueuer)} ${replacing} ${again}`));

  const asks = () =>
    outcome(async () => {
      await roles.sql`delete from jobs`;
      const id = await given(roles.sql).running({ kind: 'greet', dedupeKey: 'k' });
      const options = { dedupeKey: 'k', onDuplicate: 'again' } as const;
      const answer = await queue.enqueue(roles.as('enqueuer'), 'greet', { tenant: 'b' }, options);
      return answer.id === id && (await row(roles.sql, id))?.again === true;
    });

  it('works with the grants of the README', async () => {
    await expect(asks()).resolves.toBe(true);
  });

  it('needs a policy for updates under row-level security, and says so instead of asking nobody', async () => {
    const policies = readmeSql('row-level security');
    try {
      await roles.run(policies);
      await expect(asks()).rejects.toMatchObject({ code: 'DUPLICATE_NOT_SEEN' });
      await roles.run('create policy web_replaces on public.jobs for update to web using (true)');
      await expect(asks()).resolves.toBe(true);
    } finally {
      const all = [...policiesIn(policies), 'web_replaces'];
      await roles.run(all.map((name) => `drop policy if exists ${name} on public.jobs`).join(';'));
      await roles.run('alter table public.jobs disable row level security');
    }
  });

  it.each([...grantsIn(replacing), ...grantsIn(again)])('needs $right', async ({ right }) => {
    await roles.run(`revoke ${right} from web`);
    await expect(asks()).resolves.toBe('42501');
  });
});

describe('throttle', () => {
  beforeEach(() => roles.run(`${revoke} ${readmeSql(titles.enqueuer)} ${throttling}`));

  const throttles = () =>
    outcome(async () => {
      await roles.sql`delete from jobs`;
      await roles.sql`delete from job_throttle`;
      const options = { dedupeKey: 'k', onDuplicate: 'throttle', periodMs: 60_000 } as const;
      const enqueue = () => queue.enqueue(roles.as('enqueuer'), 'greet', { tenant: 'b' }, options);
      const [first, second] = [await enqueue(), await enqueue()];
      return !first.duplicate && second.duplicate && first.id === second.id;
    });

  it('works with the grants of the README', async () => {
    await expect(throttles()).resolves.toBe(true);
  });

  it.each(grantsIn(throttling))('needs $right', async ({ right }) => {
    await roles.run(`revoke ${right} from web`);
    await expect(throttles()).resolves.toBe('42501');
  });
});
