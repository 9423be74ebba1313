/** Who may only read jobs and cancel them can neither pause nor resume; a worker without its right to what is paused works on. */
import { beforeEach, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { createQueue } from '../../src/queue/queue.js';
import { createWorker } from '../../src/worker/worker.js';
import { given } from '../support/jobs.js';
import { until } from '../support/until.js';
import { registry } from './moves.js';
import { readmeSql, titles } from './readme.js';
import { useRoles } from './stage.js';

const roles = useRoles();
const queue = createQueue(registry, { tables: roles.tables });
const what = { queue: 'default' } as const;

beforeEach(async () => {
  await roles.sql`delete from jobs`;
  await roles.sql`delete from job_limits`;
});

it('who may read jobs and cancel them can neither pause nor resume', async () => {
  await roles.run(`${readmeSql(titles.reader)}
    grant update (state, finished_at, locked_by, heartbeat_at, started_at, again) on public.jobs to reader`);
  const db = roles.as('reader');
  expect(await queue.cancel(db, await given(roles.sql).available())).toMatchObject({ result: 'done' });
  expect(await queue.paused(db)).toEqual([]);
  expect(await queue.pause(db, what).catch(sqlState)).toBe('42501');
  expect(await queue.resume(db, what).catch(sqlState)).toBe('42501');
});

it('a worker without its right warns once and has no pauses; with it, it heeds them', async () => {
  await roles.sql`insert into job_limits (scope, name) values ('queue', 'default')`;
  await roles.run(readmeSql(titles.worker));
  await roles.run('revoke select on public.job_limits from worker');
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
