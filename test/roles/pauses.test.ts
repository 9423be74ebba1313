/** Who pauses needs what the README grants for it; who may only read or cancel is refused, and a worker without its right works on. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { createQueue } from '../../src/queue/queue.js';
import { createWorker } from '../../src/worker/worker.js';
import { given } from '../support/jobs.js';
import { until } from '../support/until.js';
import { registry } from './moves.js';
import { grantsIn, readmeSql, titles } from './readme.js';
import { useRoles } from './stage.js';

const roles = useRoles();
const queue = createQueue(registry, { tables: roles.tables });
/** The README's `operator` is the reader here: a role of its own. */
const pausing = readmeSql('a person who pauses and resumes').replace(/\boperator\b/g, 'reader');
const what = { queue: 'default' } as const;

beforeEach(async () => {
  await roles.sql`delete from jobs`;
  await roles.sql`delete from job_limits`;
  for (const name of ['reader', 'worker'])
    await roles.run(`revoke all on public.jobs, public.job_limits from ${name}`);
});
afterAll(() => roles.sql`delete from job_limits`);

/** How each call went, by SQLSTATE where it was refused. */
async function pauseAndResume(): Promise<unknown[]> {
  const db = roles.as('reader');
  const calls = [
    async () => (await queue.pause(db, what)).result,
    async () => (await queue.pause(db, what)).result,
    async () => (await queue.paused(db)).length,
    async () => (await queue.resume(db, what)).result,
  ];
  const answers: unknown[] = [];
  for (const call of calls) answers.push(await call().catch(sqlState));
  return answers;
}

describe('who pauses', () => {
  beforeEach(() => roles.run(pausing));

  it('works with the grants of the README', async () => {
    expect(await pauseAndResume()).toEqual(['done', 'unchanged', 1, 'done']);
  });

  it.each(grantsIn(pausing))('needs $right', async ({ right }) => {
    await roles.run(`revoke ${right} from reader`);
    try {
      expect(await pauseAndResume()).toContain('42501');
    } finally {
      await roles.run(pausing);
    }
  });
});

it('who may read jobs and cancel them can neither pause nor resume', async () => {
  await roles.run(`${readmeSql(titles.reader)}
    grant update (state, finished_at, locked_by, heartbeat_at, started_at, again) on public.jobs to reader`);
  const id = await given(roles.sql).available();
  expect(await queue.cancel(roles.as('reader'), id)).toMatchObject({ result: 'done' });
  expect(await queue.paused(roles.as('reader'))).toEqual([]);
  expect(await pauseAndResume()).toEqual(['42501', '42501', 0, '42501']);
});

it('a worker without its right to the table warns once and has no pauses; with it, it heeds them', async () => {
  await roles.sql`insert into job_limits (scope, name) values ('queue', 'default')`;
  await roles.run(`${readmeSql(titles.worker)} revoke select on public.job_limits from worker`);
  const ran: number[] = [];
  const start = async () => {
    const worker = createWorker({
      db: roles.as('worker'),
      registry,
      tables: roles.tables,
      queues: { default: 2 },
      handlers: { greet: (_payload, { id }) => void ran.push(id) },
      log: false,
    });
    const told: string[] = [];
    worker.on('problem', ({ object, severity }) => told.push(`${severity} ${object}`));
    worker.on('paused', ({ queue: name }) => told.push(`paused ${name}`));
    worker.on('error', ({ error }) => told.push(String(error)));
    await worker.start();
    return { worker, told };
  };
  const without = await start();
  const id = await given(roles.sql).available({ payload: { tenant: 'a' } });
  await until(() => ran.length && without.told.length, { what: 'the job, and the warning' });
  expect(ran).toEqual([id]);
  await without.worker.stop();
  expect(without.told).toEqual(['warning table "public"."job_limits"']);

  await roles.run(readmeSql(titles.worker));
  const withRight = await start();
  await until(() => withRight.told.length, { what: 'the pause' });
  await withRight.worker.stop();
  expect(withRight.told).toEqual(['paused default']);
});
