/**
 * The demo: a short run of the real thing, what an interrupted run leaves behind, and the audit, which must see
 * each promise broken.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { eq } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { connect, type Db } from '../examples/github-webhooks/database.js';
import { audit, type Seen } from '../examples/github-webhooks/demo/audit.js';
import { applyMigrations } from '../examples/github-webhooks/demo/postgres.js';
import type { Received } from '../examples/github-webhooks/demo/sink.js';
import { activity, claimEnds, eventJobs, events, jobs } from '../examples/github-webhooks/schema.js';
import { asAdmin } from './support/postgres/index.js';
import { cloneName, dropDatabase, withDatabase } from './support/template.js';
import { until } from './support/until.js';

const root = fileURLToPath(new URL('..', import.meta.url));

describe('the demo', () => {
  beforeAll(() => {
    if (!existsSync(`${root}/dist/worker.js`)) throw new Error('Build first: npm run build.');
  });

  // After a test that failed; the groups of the others are empty.
  const started: number[] = [];
  afterEach(() => {
    for (const leader of started.splice(0)) if (isGroupAlive(leader)) process.kill(-leader, 'SIGKILL');
  });

  it('keeps every promise over a worker that is killed, and says so', async () => {
    const { run } = startDemo('--events', '40');
    const output = text(run.stdout);
    const [code] = await once(run, 'exit');
    const said = await output;
    expect({ code, said }).toEqual({
      code: 0,
      said: expect.stringMatching(/was killed in the middle of job \d+/),
    });
    expect(table(said)).toMatchObject({
      'events committed': 36,
      'events rolled back': 4,
      'jobs run': 72,
      'jobs discarded': 2,
      'jobs left': 0,
    });
    for (const what of ['attempts retried', 'jobs rescued', 'delivered twice']) {
      expect(table(said)[what], what).toBeGreaterThanOrEqual(1);
    }
    expect(said).not.toContain('✗');
    await expect(clients(databaseOf(said))).resolves.toBeUndefined();
  }, 70_000);

  it('leaves neither a process nor a database behind when it is interrupted', async () => {
    const { run, leader } = startDemo();
    let said = '';
    run.stdout.setEncoding('utf8').on('data', (part: string) => {
      said += part;
    });
    const connected = async () =>
      (await clients(databaseOf(said)))?.filter((name) => name.startsWith('worker-'));
    await until(async () => (await connected())?.length === 2, {
      what: 'both workers to be connected',
      timeoutMs: 30_000,
    });
    run.kill('SIGINT');
    await expect(once(run, 'exit')).resolves.toEqual([130, null]);
    await until(() => !isGroupAlive(leader), { what: 'every process of the demo to be gone' });
    await expect(clients(databaseOf(said))).resolves.toBeUndefined();
  }, 60_000);

  /** In a process group of its own, on the server of this test run. */
  function startDemo(...args: string[]) {
    const run = spawn(process.execPath, ['--import', 'tsx', 'examples/github-webhooks/demo.ts', ...args], {
      cwd: root,
      detached: true,
      env: { ...process.env, DATABASE_URL: inject('postgres').url, POSTGRES_SOURCE: 'DATABASE_URL' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const leader = run.pid;
    if (leader === undefined) throw new Error('The demo did not start.');
    started.push(leader);
    return { run, leader };
  }
});

function isGroupAlive(leader: number): boolean {
  try {
    return process.kill(-leader, 0);
  } catch {
    return false;
  }
}

/** The names of the programs that are connected to a database; undefined when it does not exist. */
async function clients(database: string): Promise<readonly string[] | undefined> {
  const [found] = await asAdmin(
    inject('postgres').url,
    (sql) => sql<{ names: string[] }[]>`
      select (select coalesce(json_agg(distinct application_name), '[]') from pg_stat_activity where datname = ${database}) as names
      from   pg_database where datname = ${database}`,
  );
  return found?.names;
}

function databaseOf(said: string): string {
  const name = /database (\w+)/.exec(said)?.[1];
  if (!name) throw new Error(`The demo has not named its database: ${said}`);
  return name;
}

function table(said: string): Record<string, number> {
  const lines = said.matchAll(/^ {2}([a-z ]+?) {2,}(\d+)/gm);
  return Object.fromEntries([...lines].map(([, what, count]) => [what, Number(count)]));
}

describe('the audit', () => {
  const name = cloneName(inject('postgres').run, `demo_${randomBytes(4).toString('hex')}`);
  const url = withDatabase(inject('postgres').url, name);
  let db: Db;
  let seen: Seen & { received: Received[] };
  beforeAll(async () => {
    await asAdmin(inject('postgres').url, (sql) => sql`create database ${sql(name)}`);
    await applyMigrations(url);
    db = connect(url, 'test');
  });
  afterAll(async () => {
    await db?.$client.end();
    await dropDatabase(inject('postgres').url, name);
  });

  /** One event, `good`, whose jobs 1 (deliver) and 2 (index) have run; another one, `bad`, was rolled back. */
  beforeEach(async () => {
    const [event] = await db
      .insert(events)
      .values({ deliveryId: 'good', name: 'push', repository: 'a/b', payload: {}, indexedAt: new Date() })
      .returning();
    const eventId = event?.id ?? 0;
    await db.insert(eventJobs).values([
      { jobId: 1, eventId, kind: 'deliver' },
      { jobId: 2, eventId, kind: 'index' },
    ]);
    await db.insert(activity).values({ repository: 'a/b', events: 1 });
    // One by one: Postgres 13 refuses DEFAULT for an identity column in a list of several rows.
    await db.insert(claimEnds).values({ jobId: 1, kind: 'deliver', lockedBy: 'a/1', how: 'completed' });
    await db.insert(claimEnds).values({ jobId: 2, kind: 'index', lockedBy: 'a/2', how: 'completed' });
    const received = [{ job: 1, deliveryId: 'good', by: 'a', status: 200 } as const];
    seen = { accepted: new Set(['good']), failed: new Set(['bad']), received };
  });
  afterEach(async () => {
    for (const each of [eventJobs, events, activity, claimEnds, jobs]) await db.delete(each);
  });

  /** The promises that the audit finds broken. */
  async function broken(): Promise<Record<string, readonly string[]>> {
    const found = (await audit(db, seen)).filter((one) => one.broken.length > 0);
    return Object.fromEntries(found.map((one) => [one.promise, one.broken]));
  }

  const row = { id: 1, kind: 'deliver', payload: { eventId: 1 } };
  const running = {
    state: 'running',
    lockedBy: 'b/1',
    heartbeatAt: new Date(),
    startedAt: new Date(),
  } as const;
  /** Ids are given out by the database otherwise. */
  const putJob = (values: typeof jobs.$inferInsert & { id: number }) =>
    db.insert(jobs).overridingSystemValue().values(values);

  it('finds nothing where every promise is kept', async () => {
    await expect(broken()).resolves.toEqual({});
  });

  it('takes a discarded job for one that has ended', async () => {
    await putJob({ ...row, state: 'discarded', finishedAt: new Date() });
    seen.received.length = 0;
    await expect(broken()).resolves.toEqual({});
  });

  it('sees a job of a rolled-back event, waiting or long gone', async () => {
    await putJob({ ...row, id: 7, state: 'discarded', finishedAt: new Date() });
    await db.insert(claimEnds).values({ jobId: 8, kind: 'index', lockedBy: 'a/3', how: 'completed' });
    seen.received.push({ job: 9, deliveryId: 'bad', by: 'a', status: 200 });
    await expect(broken()).resolves.toEqual({
      'a rolled-back event has no job': [
        'job 7 belongs to no event',
        'job 8 belongs to no event',
        'event bad was answered with 500 and delivered by job 9',
      ],
    });
  });

  it('sees a rolled-back event that is stored', async () => {
    await db.update(events).set({ deliveryId: 'bad' });
    await expect(broken()).resolves.toMatchObject({
      'a rolled-back event has no job': ['event bad was answered with 500 and is stored'],
      'a committed event has its two jobs': ['event good was answered with 202 and is not stored'],
    });
  });

  it('sees a committed event without one of its jobs', async () => {
    await db.delete(eventJobs).where(eq(eventJobs.jobId, 2));
    await db.delete(claimEnds).where(eq(claimEnds.jobId, 2));
    await expect(broken()).resolves.toEqual({
      'a committed event has its two jobs': ['event good has other jobs than deliver, index: deliver'],
    });
  });

  it('sees a job that is gone without having run', async () => {
    seen.received.length = 0;
    await db.update(events).set({ indexedAt: null });
    await db.delete(activity);
    await expect(broken()).resolves.toEqual({
      'a job is completed, with its effect, or discarded': [
        'deliver 1 is gone without its effect',
        'index 2 is gone without its effect',
      ],
    });
  });

  it.each([
    ['waiting', { state: 'available' }],
    ['running', running],
  ] as const)('sees a job that is left %s', async (_, state) => {
    await putJob({ ...row, ...state });
    await expect(broken()).resolves.toEqual({
      'a job is completed, with its effect, or discarded': [`deliver 1 is ${state.state}`],
      'nothing is left waiting or running': [`deliver 1 is ${state.state}; last error: none`],
    });
  });

  it('sees a claim that ended twice', async () => {
    await db.insert(claimEnds).values({ jobId: 1, kind: 'deliver', lockedBy: 'a/1', how: 'discarded' });
    await expect(broken()).resolves.toEqual({
      'no claim ends twice': ['job 1 of claim a/1: completed, then discarded'],
    });
  });

  it('sees a second delivery, unless the job was rescued', async () => {
    seen.received.push({ job: 1, deliveryId: 'good', by: 'b', status: 200 });
    await expect(broken()).resolves.toEqual({
      'only rescued jobs are delivered twice': ['job 1 was delivered twice and never rescued'],
    });
    await db.insert(claimEnds).values({ jobId: 1, kind: 'deliver', lockedBy: 'a/0', how: 'rescued' });
    await expect(broken()).resolves.toEqual({});
  });

  it('sees an event that was counted twice', async () => {
    await db.update(activity).set({ events: 2 });
    await expect(broken()).resolves.toEqual({
      'every event is counted exactly once': ['a/b: 1 events, counted 2'],
    });
  });
});
