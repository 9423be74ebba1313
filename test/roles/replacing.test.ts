/** An app that replaces jobs which wait needs more than one that only adds some: what the README grants it, and no less. */
import { beforeEach, describe, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { createQueue } from '../../src/queue/queue.js';
import { given, row } from '../support/jobs.js';
import { registry } from './moves.js';
import { grantsIn, policiesIn, readmeSql, titles } from './readme.js';
import { useRoles } from './stage.js';

const roles = useRoles();
const replacing = readmeSql("an app that only enqueues, also with onDuplicate: 'replace' or 'debounce'");
const columns = { kind: 'greet', payload: { tenant: 'a' }, dedupeKey: 'k', dueInS: 3_600 };

beforeEach(() => roles.run(`revoke all on public.jobs from web; ${readmeSql(titles.enqueuer)} ${replacing}`));

/** True when the job that waits was replaced, or how that was refused. */
async function replaces(onDuplicate: 'replace' | 'debounce'): Promise<boolean | string | undefined> {
  const { enqueue } = createQueue(registry, { tables: roles.tables });
  await roles.sql`delete from jobs`;
  const id = await given(roles.sql).available(columns);
  const options = { dedupeKey: 'k', onDuplicate, priority: 3 };
  const enqueued = enqueue(roles.as('enqueuer'), 'greet', { tenant: 'b' }, options);
  const answer = await enqueued.catch((error: unknown) => {
    const refused = sqlState(error);
    if (refused === undefined) throw error;
    return refused;
  });
  const replaced = (await row(roles.sql, id))?.priority === 3;
  return typeof answer === 'object' ? replaced && answer.duplicate && answer.id === id : answer;
}

describe.each(['replace', 'debounce'] as const)('%s', (onDuplicate) => {
  it('works with the grants of the README', async () => {
    await expect(replaces(onDuplicate)).resolves.toBe(true);
  });

  it.each(grantsIn(replacing))('needs $right', async ({ right }) => {
    await roles.run(`revoke ${right} from web`);
    await expect(replaces(onDuplicate)).resolves.toBe('42501');
  });

  it('is refused with the grants of an app that only adds jobs', async () => {
    await roles.run(`revoke all on public.jobs from web; ${readmeSql(titles.enqueuer)}`);
    await expect(replaces(onDuplicate)).resolves.toBe('42501');
  });

  it('needs a policy for updates under row-level security', async () => {
    const policies = readmeSql('row-level security');
    try {
      await roles.run(policies);
      await expect(replaces(onDuplicate)).rejects.toMatchObject({ code: 'DUPLICATE_NOT_SEEN' });
      await roles.run('create policy web_replaces on public.jobs for update to web using (true)');
      await expect(replaces(onDuplicate)).resolves.toBe(true);
    } finally {
      const all = [...policiesIn(policies), 'web_replaces'];
      await roles.run(all.map((name) => `drop policy if exists ${name} on public.jobs`).join(';'));
      await roles.run('alter table public.jobs disable row level security');
    }
  });
});
