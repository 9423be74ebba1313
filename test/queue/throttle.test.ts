/** `onDuplicate: 'throttle'`: at most one job of a key in a period, also when it has ended before. */
import { sql } from 'drizzle-orm';
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { jobs, queueTables } from '../../src/schema.js';
import { useDatabase } from '../support/database.js';
import { finish } from '../support/finish.js';
import { given, row, table } from '../support/jobs.js';
import { callPlainly, logged, queue as plainQueue } from './stage.js';

const database = useDatabase();
const registry = defineJobs({
  refresh: job<{ n: number }>({ dedupeKey: () => 'all', onDuplicate: 'throttle', periodMs: 60_000 }),
  ping: job(),
});
const queue = createQueue(registry);
const refresh = (n: number, options = {}) => queue.enqueue(database.db, 'refresh', { n }, options);

afterEach(async () => {
  await database.sql`truncate jobs, job_throttle`;
});

const end = async (id: number) => {
  await database.sql`
    update jobs set state = 'running', locked_by = 'w/1', heartbeat_at = now(), started_at = now() where id = ${id}`;
  await finish(database.db, table, [{ id, lockedBy: 'w/1', outcome: { move: 'complete' } }]);
  expect(await row(database.sql, id)).toBeUndefined();
};
/** Time goes on: rows are moved, nobody waits. */
const later = (seconds: number) =>
  database.sql`update job_throttle set until = until - ${seconds}::float8 * interval '1 second'`;
const slots = () => database.sql<{ key: string; jobId: number | null; leftS: number }[]>`
  select key, job_id::float8 as "jobId", extract(epoch from until - clock_timestamp())::float8 as "leftS"
  from job_throttle order by key`;
const count = async () => (await database.sql`select 1 from jobs`).length;

describe('within the period', () => {
  it('no other comes, while it waits, runs and after it has ended; the answer is its id', async () => {
    const { id, duplicate } = await refresh(1);
    expect(duplicate).toBe(false);
    expect(await refresh(2)).toEqual({ id, duplicate: true });
    await end(id);
    expect(await refresh(3)).toEqual({ id, duplicate: true });
    expect(await count()).toBe(0);
    const [slot] = await slots();
    expect(slot).toMatchObject({ key: 'all', jobId: id });
    expect(Math.abs((slot?.leftS ?? 0) - 60)).toBeLessThan(5);
  });

  it('counts from the enqueue that was taken, not from those that were not', async () => {
    const { id } = await refresh(1);
    await end(id);
    await later(40);
    expect(await refresh(2)).toEqual({ id, duplicate: true });
    await later(21);
    const next = await refresh(3);
    expect(next).toMatchObject({ duplicate: false });
    expect(next.id).not.toBe(id);
    expect(await row(database.sql, next.id)).toMatchObject({ payload: { n: 3 }, dedupeKey: 'all' });
    expect(await refresh(4)).toEqual({ id: next.id, duplicate: true });
  });

  it('the job is all that its enqueue says', async () => {
    const options = { priority: 7, maxAttempts: 3, delayMs: 60_000, timeoutMs: 9, meta: { trace: 'x' } };
    const { id } = await refresh(1, options);
    const { delayMs: _, ...stored } = options;
    expect(await row(database.sql, id)).toMatchObject({ ...stored, payload: { n: 1 }, state: 'available' });
    const [due] = await database.sql`
      select round(extract(epoch from run_at - clock_timestamp()) / 10)::int as tens from jobs`;
    expect(due).toEqual({ tens: 6 });
  });
});

describe('after the period', () => {
  it('a job that is not over yet is a duplicate all the same, and begins no period', async () => {
    const { id } = await refresh(1);
    await later(61);
    const before = await slots();
    expect(await refresh(2)).toEqual({ id, duplicate: true });
    expect((await slots()).map(({ jobId }) => jobId)).toEqual(before.map(({ jobId }) => jobId));
    expect((await slots())[0]?.leftS).toBeLessThan(0);
    await end(id);
    expect(await refresh(3)).toMatchObject({ duplicate: false });
  });

  it('one that a person has brought back is one as well', async () => {
    const { id } = await refresh(1);
    await queue.cancel(database.db, id);
    expect(await refresh(2)).toEqual({ id, duplicate: true }); // a cancel does not end the period
    await later(61);
    await queue.replay(database.db, id);
    expect(await refresh(3)).toEqual({ id, duplicate: true });
  });
});

it('a job of the key that came by another way is a duplicate, and begins no period', async () => {
  const { id } = await refresh(1, { onDuplicate: 'skip', periodMs: undefined });
  expect(await slots()).toEqual([]);
  expect(await refresh(2)).toEqual({ id, duplicate: true });
  await end(id);
  expect(await refresh(3)).toMatchObject({ duplicate: false });
});

it('keys and kinds have their own periods, and each enqueue its own length', async () => {
  const short = { dedupeKey: 'short', onDuplicate: 'throttle', periodMs: 1_000 } as const;
  const { id } = await refresh(1);
  expect(await refresh(2, short)).toMatchObject({ duplicate: false });
  const ping = { ...short, dedupeKey: 'all' };
  expect(await queue.enqueue(database.db, 'ping', undefined, ping)).toMatchObject({ duplicate: false });
  for (const slot of await slots()) {
    const leftS = slot.jobId === id ? 60 : 1;
    expect(Math.abs(slot.leftS - leftS)).toBeLessThan(3);
  }
  expect(await slots()).toHaveLength(3);
});

it('is as it was after a rollback, the first time and later', async () => {
  const undone = async () => {
    const tried = database.db.transaction(async (tx) => {
      expect(await queue.enqueue(tx, 'refresh', { n: 1 })).toMatchObject({ duplicate: false });
      expect(await queue.enqueue(tx, 'refresh', { n: 2 })).toMatchObject({ duplicate: true });
      tx.rollback();
    });
    await expect(tried).rejects.toThrow();
  };
  await undone();
  expect([await count(), await slots()]).toEqual([0, []]);
  const { id } = await refresh(1);
  await end(id);
  await later(61);
  const before = await slots();
  await undone();
  expect(await slots()).toMatchObject(before.map(({ jobId }) => ({ jobId })));
  expect((await slots())[0]?.leftS).toBeLessThan(0);
  expect(await refresh(3)).toMatchObject({ duplicate: false });
});

it('who meets a period that has begun holds no lock for others to wait for', async () => {
  const { id } = await refresh(1);
  await database.db.transaction(async (tx) => {
    expect(await queue.enqueue(tx, 'refresh', { n: 2 })).toEqual({ id, duplicate: true });
    const free = await database.sql`select 1 from job_throttle for update skip locked`;
    expect(free).toHaveLength(1);
  });
});

it('in a list: the first of a key counts, also beside other ways', async () => {
  const answers = await queue.enqueueMany(database.db, [
    { kind: 'refresh', payload: { n: 1 } },
    { kind: 'ping' },
    { kind: 'refresh', payload: { n: 2 } },
    { kind: 'refresh', payload: { n: 3 }, dedupeKey: 'other' },
    { kind: 'ping', dedupeKey: 'all' },
  ]);
  expect(answers.map(({ duplicate }) => duplicate)).toEqual([false, false, true, false, false]);
  expect(answers[2]?.id).toBe(answers[0]?.id);
  expect(await row(database.sql, answers[0]?.id ?? 0)).toMatchObject({ payload: { n: 1 } });
});

it('without a key there is no period', async () => {
  const options = { onDuplicate: 'throttle', periodMs: 1_000 } as const;
  expect(await queue.enqueue(database.db, 'ping', undefined, options)).toMatchObject({ duplicate: false });
  expect(await queue.enqueue(database.db, 'ping', undefined, options)).toMatchObject({ duplicate: false });
  expect(await slots()).toEqual([]);
});

it('one statement each, but two for the first job of a key', async () => {
  const { db, statements } = logged(database.db.$client);
  const { id } = await queue.enqueue(db, 'refresh', { n: 1 });
  expect(statements).toHaveLength(2);
  await queue.enqueue(db, 'refresh', { n: 2 });
  expect(statements).toHaveLength(3);
  await end(id);
  await later(61);
  expect(await queue.enqueue(db, 'refresh', { n: 3 })).toMatchObject({ duplicate: false });
  expect(statements).toHaveLength(4);
});

describe('what does not fit', () => {
  const throttle = 'throttle';
  it.each([
    [
      { onDuplicate: throttle },
      "`periodMs` to be a number of ms from 1 to 3153600000000, which 'throttle' needs",
    ],
    [{ onDuplicate: throttle, periodMs: 0 }, '`periodMs`'],
    [{ onDuplicate: throttle, periodMs: -1 }, '`periodMs`'],
    [{ onDuplicate: throttle, periodMs: '60' }, '`periodMs`'],
    [{ onDuplicate: throttle, periodMs: Number.NaN }, '`periodMs`'],
    [{ onDuplicate: throttle, periodMs: Number.POSITIVE_INFINITY }, '`periodMs`'],
    [{ onDuplicate: throttle, periodMs: 5, maxWaitMs: 5 }, '`maxWaitMs` to be left out'],
    [{ periodMs: 5 }, "`periodMs` to be left out where `onDuplicate` is not 'throttle', got 5"],
    [{ onDuplicate: 'again', periodMs: 5 }, '`periodMs` to be left out'],
    [{ onDuplicate: 'again', maxWaitMs: 5 }, '`maxWaitMs` to be left out'],
  ])('is refused for a kind and for an enqueue: %j', async (options, message) => {
    expect(() => Reflect.apply(job, undefined, [options])).toThrow(message);
    const { db, statements } = logged(database.db.$client);
    const given = { dedupeKey: 'k', ...options };
    const refused = callPlainly(plainQueue.enqueue, db, 'ping', undefined, given);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    const listed = callPlainly(plainQueue.enqueueMany, db, [{ kind: 'ping' }, { kind: 'ping', ...given }]);
    await expect(listed).rejects.toMatchObject({ code: 'INVALID_OPTION', data: { index: 1 } });
    expect(statements).toEqual([]);
  });

  it('a kind’s period is for its own throttle only', async () => {
    const { id } = await refresh(1, { onDuplicate: 'skip' });
    expect(await refresh(2, { onDuplicate: 'replace' })).toEqual({ id, duplicate: true });
    expect(await row(database.sql, id)).toMatchObject({ payload: { n: 2 } });
    expect(await slots()).toEqual([]);
  });
});

describe('an app without the table', () => {
  const throttled = { dedupeKey: 'k', onDuplicate: 'throttle', periodMs: 5 } as const;

  it('is told so before any SQL when it gave `jobs` alone', async () => {
    const { db, statements } = logged(database.db.$client);
    const without = createQueue(registry, { tables: { jobs } });
    const message =
      /`onDuplicate: 'throttle'` needs the table `job_throttle`, which the `tables` of createQueue/;
    const refused = without.enqueue(db, 'refresh', { n: 1 });
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toMatchObject({ code: 'TABLE_MISMATCH', data: { table: 'job_throttle' } });
    const list = [
      { kind: 'ping', dedupeKey: 'a' },
      { kind: 'ping', ...throttled },
    ] as const;
    await expect(without.enqueueMany(db, list)).rejects.toThrow(message);
    expect(statements).toEqual([]);
    expect(await without.enqueue(db, 'ping')).toMatchObject({ duplicate: false });
    expect(await without.enqueue(db, 'refresh', { n: 1 }, { onDuplicate: 'again' })).toMatchObject({
      duplicate: false,
    });
  });

  it('is told what to run when the database has none', async () => {
    await database.sql`alter table job_throttle rename to elsewhere`;
    try {
      const refused = queue.enqueue(database.db, 'ping', undefined, throttled);
      await expect(refused).rejects.toThrow(/"public.job_throttle" does not exist.*drizzle-kit generate/);
      await expect(refused).rejects.toMatchObject({ code: 'TABLE_MISMATCH', cause: expect.anything() });
    } finally {
      await database.sql`alter table elsewhere rename to job_throttle`;
    }
  });

  it('which gives something else as that table is refused', () => {
    const { jobs } = queueTables();
    const make = () =>
      Reflect.apply(createQueue, undefined, [registry, { tables: { jobs, jobThrottle: {} } }]);
    expect(make).toThrow('Expected `tables` to be what queueTables(…) gave');
  });
});

it('a row that a person has put there is taken for what it is', async () => {
  await database.sql`insert into job_throttle (kind, key, until) values ('refresh', 'all', now() - interval '1 s')`;
  const { id } = await refresh(1);
  expect(await slots()).toMatchObject([{ key: 'all', jobId: id }]);
  const other = await given(database.sql).available({ kind: 'ping', dedupeKey: 'k' });
  const throttled = { dedupeKey: 'k', onDuplicate: 'throttle', periodMs: 5_000 } as const;
  expect(await queue.enqueue(database.db, 'ping', undefined, throttled)).toEqual({
    id: other,
    duplicate: true,
  });
  await database.db.execute(sql`delete from job_throttle`);
  await end(id);
  expect(await refresh(2)).toMatchObject({ duplicate: false });
});
