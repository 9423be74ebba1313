/**
 * Databases whose defaults are not what a queue would choose. Under each, two workers on two drivers share a few hundred jobs:
 * every one runs as often as it should, times are right, and nobody is told of an error.
 */
import { sql } from 'drizzle-orm';
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres, { type Sql } from 'postgres';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { tableName } from '../../src/database/table-name.js';
import {
  createQueue,
  type Database,
  defineJobs,
  type JobContext,
  job,
  type Transaction,
} from '../../src/index.js';
import { jobs, jobThrottle } from '../../src/schema.js';
import { deleteThrottles } from '../../src/sql/delete-throttles.js';
import { databaseTimeS } from '../../src/sql/session.js';
import { createWakeTrigger } from '../../src/sql/wake-trigger.js';
import { advance, assertEnqueued, drain } from '../../src/testing.js';
import { createWorker, type Worker } from '../../src/worker.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { finish } from '../support/finish.js';
import { untilServerHasRunFor } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createDecoys } from './decoys.js';
import { databases, type Row, since } from './settings.js';

const instant = '2999-12-31T23:59:59.999Z';
const registry = defineJobs({
  short: job<{ n: number }>(),
  complete: job<{ n: number }>({ retry: () => 0 }),
  'fail once': job({ retry: () => 0 }),
  fail: job(),
  discard: job(),
  'snooze for': job(),
  'snooze until': job(),
});
const queue = createQueue(registry);
type Kind = keyof (typeof registry)['kinds'];
const shorts = 200;
const completes = 20;

const major = Number.parseInt(inject('postgres').version, 10);

describe.each(databases)('in a database with defaults: $name', (defaults) => {
  let database: TestDatabase;
  let observer: Sql;
  let clients: { readonly db: Database; end(): Promise<void> }[] = [];

  beforeEach(async () => {
    database = await createDatabase();
    // Its own session has the defaults of Postgres.
    observer = postgres(database.url, { max: 2, onnotice: () => {} });
    await observer`create schema decoy`;
    await observer`create table decoy.jobs (id text, queue int, state bool)`;
    if (defaults.decoys) await createDecoys(observer);
    await observer`create table notes (n int)`;
    await untilServerHasRunFor(observer, 1);
    for (const [name, value] of Object.entries(defaults.set)) {
      if (major < (since[name] ?? 0)) continue;
      await observer.unsafe(`alter database "${database.name}" set ${name} = ${value}`);
    }
    const ours = postgres(database.url, { onnotice: () => {} });
    const theirs = new pg.Pool({ connectionString: database.url });
    clients = [
      { db: overPostgresJs({ client: ours }), end: () => ours.end() },
      { db: overPg({ client: theirs }), end: () => theirs.end() },
    ];
  });
  afterEach(async () => {
    await Promise.all([observer.end(), ...clients.map(({ end }) => end())]);
    await database.expectNoConnections();
    await database.drop();
  });

  it('jobs run as often as they should, at the right times, without an error', async () => {
    const [first, second] = clients;
    if (!first || !second) throw new Error('there are two clients');
    const [dead] = await observer<{ id: number }[]>`
      insert into jobs (kind, state, attempts, timeout_s, locked_by, started_at, heartbeat_at)
      values ('discard', 'running', 3, 1, 'dead/1', now(), now() - interval '1 hour')
      returning id::int as id`;
    await enqueueAll(first.db, second.db, defaults);
    for (const { db } of clients) {
      expect(Math.abs((await databaseTimeS(db)) - Date.now() / 1_000)).toBeLessThan(60);
    }

    const runs = new Map<string, number>();
    const seen = { errors: [] as unknown[], rescued: [] as number[], ends: 0 };
    const workers = [first, second].map(({ db }) => watch(workerOn(db, runs), seen));
    await Promise.all(workers.map((worker) => worker.start()));
    const all = shorts + completes + 1;
    const { mostErrors = 0 } = defaults;
    const over = () => seen.ends === all && runs.size === all + 4 && seen.rescued.length > 0;
    await until(() => over() || seen.errors.length > mostErrors, { what: 'all ends', timeoutMs: 20_000 });
    await Promise.all(workers.map((worker) => worker.stop()));

    expect(seen.errors.slice(mostErrors)).toEqual([]);
    expect(seen.rescued).toEqual([dead?.id]);
    const again = [...runs].filter(([, times]) => times !== 1).map(([job]) => job);
    expect(again.filter((job) => !defaults.conflicts || !job.startsWith('complete '))).toEqual([
      expect.stringContaining('fail once '),
    ]);
    expect(await left(observer)).toEqual(expectedLeft);
    const [notes] = await observer`select count(*)::int as n, count(distinct n)::int as distinct from notes`;
    expect(notes).toEqual({ n: completes, distinct: completes });
  });

  it('one more run, throttles and pauses', async () => {
    for (const { db } of clients) {
      await db.transaction(
        async (tx: Transaction) => {
          const again = { dedupeKey: 'again', onDuplicate: 'again' } as const;
          const { id } = await queue.enqueue(tx, 'short', { n: 1 }, again);
          await tx.execute(sql`
            update public.jobs set state = 'running', locked_by = 'w/1', heartbeat_at = now(), started_at = now()
            where id = ${id}::bigint`);
          expect(await queue.enqueue(tx, 'short', { n: 2 }, again)).toEqual({ id, duplicate: true });
          const end = { id, lockedBy: 'w/1', outcome: { move: 'complete' } } as const;
          expect(await finish(tx, tableName(jobs), [end])).toMatchObject([
            { result: 'done', state: 'completed' },
          ]);
          await queue.remove(tx, id);

          const throttle = { dedupeKey: 'throttle', onDuplicate: 'throttle', periodMs: 60_000 } as const;
          const first = await queue.enqueue(tx, 'short', { n: 1 }, throttle);
          expect(await queue.enqueue(tx, 'short', { n: 2 }, throttle)).toEqual({
            id: first.id,
            duplicate: true,
          });
          await tx.execute(sql`update public.job_throttle set until = until - interval '2 minutes'`);
          await queue.remove(tx, first.id);
          expect(await queue.enqueue(tx, 'short', { n: 3 }, throttle)).toMatchObject({ duplicate: false });
          await tx.execute(sql`update public.job_throttle set until = until - interval '2 hours'`);
          expect(await deleteThrottles(tx, tableName(jobThrottle), 60)).toBe(1);
          await tx.execute(sql`delete from public.jobs where dedupe_key = 'throttle'`);

          expect(await queue.pause(tx, { kind: 'short' })).toEqual({ result: 'done' });
          const [paused] = await queue.paused(tx);
          expect(paused?.kind).toBe('short');
          expect(Math.abs((paused?.pausedAt.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
          expect(await queue.resume(tx, { kind: 'short' })).toEqual({ result: 'done' });
        },
        { accessMode: 'read write' },
      );
    }
  });

  it('results are kept, waited for and read', async () => {
    const [first, second] = clients;
    if (!first || !second) throw new Error('there are two clients');
    const worker = createWorker({
      db: first.db,
      registry: numbers,
      queues: { default: 2 },
      handlers: {
        count: ({ n }, job) => (n < 0 ? job.discard(`no number ${n}`) : { twice: 2 * n }),
      },
      heartbeatMs: 100,
      pollIntervalMs: 20,
      log: false,
    });
    await worker.start();
    try {
      const enqueue = (n: number): Promise<{ id: number }> =>
        first.db.transaction((tx: Transaction) => counting.enqueue(tx, 'count', { n }), {
          accessMode: 'read write',
        });
      const [{ id }, { id: wrong }] = [await enqueue(21), await enqueue(-12345)];
      const began = Date.now() - 60_000;
      for (const { db } of clients) {
        expect(await counting.wait(db, 'count', id)).toEqual({ twice: 42 });
        await expect(counting.wait(db, 'count', wrong)).rejects.toMatchObject({ code: 'JOB_DISCARDED' });
        const { jobs } = await counting.list(db, { order: 'oldest', finishedAfter: new Date(began) });
        expect(jobs).toMatchObject([
          { id, result: { twice: 42 }, state: 'completed' },
          { id: wrong, state: 'discarded' },
        ]);
        expect(await counting.get(db, id)).toEqual(jobs[0]);
        for (const { createdAt, finishedAt, runAt } of jobs) {
          for (const time of [createdAt, finishedAt, runAt]) {
            expect(Math.abs((time?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
          }
        }
        expect(await counting.counts(db)).toMatchObject([{ kind: 'count', completed: 1, discarded: 1 }]);
        expect(await counting.deadLetters(db, { errorMatches: '-12345' })).toMatchObject([
          { error: 'Discard: no number -#', ids: [wrong] },
        ]);
      }
    } finally {
      await worker.stop();
    }
  });

  it('a person’s moves do what they should', async () => {
    for (const { db } of clients) {
      await db.transaction(
        async (tx: Transaction) => {
          const { id } = await queue.enqueue(tx, 'short', { n: 1 });
          const waits = { id, result: 'done', state: 'available' };
          expect(await queue.update(tx, 'short', id, { n: 2 })).toEqual(waits);
          expect(await queue.reschedule(tx, id, { runAt: instant })).toEqual(waits);
          expect(await queue.runNow(tx, id)).toEqual(waits);
          expect(await queue.cancel(tx, id)).toEqual({ id, result: 'done', state: 'cancelled' });
          await tx.execute(
            sql`update public.jobs set last_error = 'no luck', dedupe_key = 'one' where id = ${id}::bigint`,
          );
          const filter = {
            state: 'cancelled',
            errorMatches: 'luck',
            finishedAfter: '2020-01-01T00:00:00Z',
          } as const;
          expect(await queue.replay(tx, filter, { preview: true })).toEqual([waits]);
          expect(await queue.replay(tx, filter)).toEqual([waits]);
          expect(await queue.remove(tx, [id])).toEqual([{ id, result: 'done', state: null }]);
        },
        { accessMode: 'read write' },
      );
    }
  });

  it('the trigger, a drain in a transaction, and a worker that runs once as well', async () => {
    for (const statement of createWakeTrigger('public', 'jobs')) await observer.unsafe(statement);
    const writes = { accessMode: 'read write' } as const;
    for (const { db } of clients) {
      const undone = db.transaction(async (tx: Transaction) => {
        await queue.enqueue(tx, 'fail once');
        await queue.enqueue(tx, 'short', { n: 1 }, { delayMs: 3_600_000 });
        const handlers = {
          short: () => {},
          'fail once': (_: void, { attempt }: JobContext<'fail once'>) => {
            if (attempt === 1) throw new Error('no luck');
          },
        };
        const outcomes = (await drain(tx, { registry, handlers })).map(({ outcome }) => outcome);
        expect(outcomes).toEqual(['failed', 'completed']);
        const job = await assertEnqueued(tx, queue, 'short', { n: 1 });
        expect(Math.abs(job.runAt.getTime() - Date.now() - 3_600_000)).toBeLessThan(60_000);
        await advance(tx, queue, 3_600_000);
        expect(await drain(tx, { registry, handlers })).toMatchObject([{ outcome: 'completed' }]);
        throw new Error('undo it');
      }, writes);
      await expect(undone).rejects.toThrow('undo it');

      await db.transaction(async (tx: Transaction) => {
        await tx.execute(sql`insert into public.jobs (kind, payload) values ('short', '{"n": 1}')`);
        await queue.enqueue(tx, 'complete', { n: 2 });
      }, writes);
      const worker = workerOn(db, new Map());
      expect(await worker.runOnce()).toMatchObject({ completed: 2, failed: 0, more: false });
    }
  });
});

/** Kept results and discarded jobs, read through both drivers. */
const numbers = defineJobs({ count: job<{ n: number }, { twice: number }>().onComplete('keep') });
const counting = createQueue(numbers);

/** By `db` and in transactions, one by one and as lists, through both drivers. */
async function enqueueAll(first: Database, second: Database, { readOnly }: Row): Promise<void> {
  const writes = { accessMode: 'read write' } as const;
  const short = (n: number) => ({ kind: 'short', payload: { n } }) as const;
  const list = Array.from({ length: shorts - 4 }, (_, n) => short(n));
  await first.transaction((tx: Transaction) => queue.enqueueMany(tx, list), writes);
  for (const db of [first, second]) {
    if (readOnly) {
      const refused = await queue.enqueue(db, 'short', { n: 0 }).catch((error: unknown) => error);
      expect(sqlState(refused)).toBe('25006');
      await db.transaction((tx: Transaction) => queue.enqueueMany(tx, [short(0), short(0)]), writes);
    } else {
      await queue.enqueue(db, 'short', { n: 0 });
      await queue.enqueueMany(db, [short(0)]);
    }
  }
  const completing = Array.from(
    { length: completes },
    (_, n) => ({ kind: 'complete', payload: { n } }) as const,
  );
  const others = ['fail once', 'fail', 'discard', 'snooze for', 'snooze until'] as const;
  await second.transaction(async (tx: Transaction) => {
    await queue.enqueueMany(tx, completing);
    for (const kind of others) await queue.enqueue(tx, kind);
    const keyed = { delayMs: 7_200_000, dedupeKey: 'k' } as const;
    await queue.enqueue(tx, 'short', { n: -1 }, keyed);
    await queue.enqueue(tx, 'short', { n: 0 }, keyed);
    await queue.enqueue(tx, 'short', { n: -1 }, { ...keyed, onDuplicate: 'debounce', maxWaitMs: 7_200_000 });
    await queue.enqueueMany(tx, [
      { ...short(0), ...keyed },
      { ...short(0), ...keyed },
    ]);
    await queue.enqueueMany(tx, [
      { ...short(-2), runAt: instant },
      { ...short(-3), delayMs: 10_800_000 },
    ]);
  }, writes);
}

function workerOn(db: Database, runs: Map<string, number>): Worker {
  const count = ({ kind, id }: JobContext<string, void>) => {
    const name = `${kind} ${id}`;
    runs.set(name, (runs.get(name) ?? 0) + 1);
  };
  return createWorker({
    db,
    registry,
    queues: { default: 4 },
    heartbeatMs: 200,
    pollIntervalMs: 20,
    log: false,
    handlers: {
      short: (_, job) => count(job),
      complete: async ({ n }, job) => {
        count(job);
        await db.transaction(
          async (tx: Transaction) => {
            await tx.execute(sql`insert into public.notes values (${n}::int)`);
            await job.complete(tx);
          },
          { accessMode: 'read write' },
        );
      },
      'fail once': (_, job) => {
        count(job);
        if (job.attempt === 1) throw new Error('no luck');
      },
      fail: (_, job) => {
        count(job);
        throw new Error('no luck');
      },
      discard: (_, job) => {
        count(job);
        job.discard('not worth it');
      },
      'snooze for': (_, job) => {
        count(job);
        job.snooze({ delayMs: 3_600_000 });
      },
      'snooze until': (_, job) => {
        count(job);
        job.snooze({ runAt: instant });
      },
    },
  });
}

function watch(worker: Worker, seen: { errors: unknown[]; rescued: number[]; ends: number }): Worker {
  worker.on('error', ({ error }) => seen.errors.push(error));
  worker.on('rescued', ({ id }) => seen.rescued.push(id));
  worker.on('completed', () => seen.ends++);
  return worker;
}

/** What is left at the end, its times in hours from now or, where they are short, in words. */
function left(observer: Sql): Promise<object[]> {
  return observer<object[]>`
    select kind, state, attempts, finished_at between now() - interval '1 minute' and now() as finished,
           case when run_at = ${instant} then 'at the instant'
                when abs(extract(epoch from run_at - now())) < 120 then 'soon'
                else round(extract(epoch from run_at - now()) / 3600)::text || ' h' end as due,
           extract(epoch from (errors->0->>'at')::timestamptz - now()) between -60 and 0 as failed_now
    from   jobs
    order  by kind, due, attempts`.then((rows) => [...rows]);
}

const row = (kind: Kind, due: string, more: object = {}) => ({
  kind,
  due,
  state: 'available',
  attempts: 0,
  finished: null,
  failed_now: null,
  ...more,
});
const expectedLeft = [
  row('discard', 'soon', { state: 'discarded', attempts: 1, finished: true, failed_now: true }),
  row('discard', 'soon', { attempts: 3, failed_now: true }),
  row('fail', 'soon', { attempts: 1, failed_now: true }),
  row('short', '2 h'),
  row('short', '3 h'),
  row('short', 'at the instant'),
  row('snooze for', '1 h'),
  row('snooze until', 'at the instant'),
];
