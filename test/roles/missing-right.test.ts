/**
 * A right that is missing, or lost while a worker runs: it is said, the tries grow apart, no job is lost or run twice, and
 * the worker goes on as soon as it has the right.
 */
import { drizzle } from 'drizzle-orm/postgres-js';
import { beforeEach, describe, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { createQueue } from '../../src/queue/queue.js';
import { job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import type { WorkerEvents } from '../../src/worker/events.js';
import { createWorker } from '../../src/worker/worker.js';
import { given, row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from '../worker/gate.js';
import { useWorkers } from '../worker/stage.js';
import { moves, registry } from './moves.js';
import { readmeSql, titles } from './readme.js';
import { useRoles } from './stage.js';

const roles = useRoles();
const { watch } = useWorkers({
  get db() {
    return drizzle({ client: roles.sql });
  },
  get sql() {
    return roles.sql;
  },
});
const grantAll = () => roles.run(readmeSql(titles.worker));
const revoke = (right: string) => roles.run(`revoke ${right} from worker`);

beforeEach(grantAll);

/** A worker as the role, with what it runs and what it says written down. */
async function start(handler: () => unknown = () => {}) {
  const lines: string[] = [];
  const runs: number[] = [];
  const keep = (line: string) => void lines.push(line);
  const worker = createWorker({
    db: roles.as('worker'),
    registry,
    queues: { default: 10 },
    handlers: {
      greet: async (_payload, { id }) => {
        runs.push(id);
        await handler();
      },
    },
    heartbeatMs: 100,
    pollIntervalMs: 20,
    log: { info: keep, warn: keep, error: keep },
  });
  const seen = watch(worker);
  await worker.start();
  const errors = (during: WorkerEvents['error']['during']) =>
    seen.error.filter((error) => error.during === during);
  return { seen, lines, runs, errors };
}

/** Each pause of a retry is drawn from between half of this and all of it. */
function expectGrowingPauses(errors: readonly WorkerEvents['error'][]): void {
  for (const [n, { retryInMs }] of errors.entries()) {
    expect(retryInMs).toBeGreaterThanOrEqual(Math.min(5_000, 100 * 2 ** n) / 2);
  }
}

describe('a worker', () => {
  it('that may not write outcomes keeps them, and writes them once it may', async () => {
    await revoke('delete on public.jobs');
    const ids = await Promise.all([1, 2, 3].map(() => given(roles.sql).available()));
    const { seen, lines, runs, errors } = await start();
    await until(() => errors('finish').length >= 4, { what: 'four tries' });

    expectGrowingPauses(errors('finish'));
    expect(lines.filter((line) => line.includes('finish failed'))[0]).toMatch(
      /^drizzle-queue: finish failed, again in \d+ ms: PostgresError: permission denied for table jobs$/,
    );
    expect(lines.join('\n')).toMatch(/lacks the right delete on table "public"."jobs". Run: grant delete on/);
    for (const id of ids) expect(await row(roles.sql, id)).toMatchObject({ state: 'running', attempts: 1 });

    await grantAll();
    await until(() => seen.completed.length === 3, { what: 'the outcomes' });
    expect(runs.sort()).toEqual(ids.sort());
    expect([...seen.lost, ...seen.unknown, ...seen.rescued]).toEqual([]);
    expect(await roles.sql`select id from jobs`).toHaveLength(0);
  });

  it('that may not keep results says so, and keeps them until it may', async () => {
    await revoke('update (result) on public.jobs');
    const keeping = defineJobs({ greet: job<{ tenant: string }, { greeted: string }>().onComplete('keep') });
    const id = await given(roles.sql).available({ payload: { tenant: 'a' } });
    const lines: string[] = [];
    const keep = (line: string) => void lines.push(line);
    const worker = createWorker({
      db: roles.as('worker'),
      registry: keeping,
      queues: { default: 1 },
      handlers: { greet: ({ tenant }) => ({ greeted: tenant }) },
      heartbeatMs: 100,
      pollIntervalMs: 20,
      log: { info: keep, warn: keep, error: keep },
    });
    const seen = watch(worker);
    await worker.start();
    await until(() => seen.error.filter(({ during }) => during === 'finish').length >= 3, { what: 'tries' });
    expect(lines.join('\n')).toMatch(/lacks the right update \(.*"result".*\) on table "public"."jobs"/);
    expect(await row(roles.sql, id)).toMatchObject({ state: 'running', attempts: 1 });

    await grantAll();
    await until(() => seen.completed.length, { what: 'the end' });
    expect(await row(roles.sql, id)).toMatchObject({ state: 'completed', result: { greeted: 'a' } });
    expect([...seen.lost, ...seen.unknown, ...seen.failed]).toEqual([]);
  });

  it('that may not claim asks less and less often, and claims once it may', async () => {
    await revoke('update (started_at) on public.jobs');
    const id = await given(roles.sql).available();
    const { seen, lines, runs, errors } = await start();
    await until(() => errors('claim').length >= 4, { what: 'four tries' });

    expectGrowingPauses(errors('claim'));
    expect(lines.filter((line) => line.includes('claim failed'))[0]).toMatch(
      /^drizzle-queue: claim failed, again in \d+ ms: PostgresError: permission denied for table jobs$/,
    );
    expect(lines.join('\n')).toContain('lacks the right update (');
    expect(await row(roles.sql, id)).toMatchObject({ state: 'available', attempts: 0 });

    await grantAll();
    await until(() => seen.completed.length === 1, { what: 'the end' });
    expect(runs).toEqual([id]);
  });

  it('that may not use the schema says so, and begins once it may', async () => {
    await revoke('usage on schema public');
    await given(roles.sql).available();
    const { seen, lines, errors } = await start();
    await until(() => errors('claim').length >= 2 && errors('rescue').length >= 1, { what: 'tries' });
    expect(lines.join('\n')).toMatch(
      /claim failed, again in \d+ ms: PostgresError: permission denied for schema public/,
    );
    expect(lines.join('\n')).toMatch(/may not use schema "public"/);

    await grantAll();
    await until(() => seen.completed.length === 1, { what: 'the end' });
  });

  it('that row-level security hides all jobs from says so at its start, and begins once it sees them', async () => {
    await given(roles.sql).available();
    await roles.sql`alter table jobs enable row level security`;
    try {
      const { seen, lines } = await start();
      await until(
        () => lines.filter((line) => line.includes('has no policy that lets the role')).length === 3,
        {
          what: 'three lines about policies',
        },
      );
      expect(seen.error).toEqual([]);

      await roles.run('create policy worker_works on public.jobs to worker using (true)');
      await until(() => seen.completed.length === 1, { what: 'the end' });
    } finally {
      await roles.run(
        'drop policy if exists worker_works on public.jobs; alter table public.jobs disable row level security',
      );
    }
  });

  it('that loses the right to its heartbeats does not lose its jobs', async () => {
    const id = await given(roles.sql).available();
    const gate = createGate();
    const { seen, runs, errors } = await start(() => gate.passed);
    await until(() => runs.length === 1, { what: 'the handler' });
    await revoke('update (heartbeat_at) on public.jobs');
    await until(() => errors('heartbeat').length >= 2, { what: 'refused heartbeats' });
    gate.open();
    await until(() => seen.completed.length === 1, { what: 'the end' });
    await grantAll();
    expect(runs).toEqual([id]);
    expect(seen.lost).toEqual([]);
  });
});

it('an enqueue rejects as Drizzle throws it, and its transaction with it', async () => {
  await roles.run(readmeSql(titles.enqueuer));
  await roles.run('revoke insert (priority) on public.jobs from web');
  await roles.sql`create table if not exists orders (id int)`;
  await roles.sql.unsafe(`grant insert on orders to ${roles.name('enqueuer')}`);
  const { enqueue } = createQueue(registry);
  const placed = roles.as('enqueuer').transaction(async (tx) => {
    await tx.execute('insert into orders values (1)');
    await enqueue(tx, 'greet', { tenant: 'a' });
  });

  const error: unknown = await placed.catch((thrown: unknown) => thrown);
  expect(sqlState(error)).toBe('42501');
  expect(error).toMatchObject({ cause: { message: 'permission denied for table jobs' } });
  expect(await roles.sql`select from orders`).toHaveLength(0);

  await roles.run(readmeSql(titles.enqueuer));
  await expect(moves.enqueuer['enqueue']?.(roles, 'enqueuer')).resolves.toBe(true);
});
