/** Which enqueues tell the workers of their jobs, and when they hear of it: with the commit. */
import { setTimeout as delay } from 'node:timers/promises';
import { pgSchema } from 'drizzle-orm/pg-core';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { channelOf, tableKey } from '../../src/database/table-name.js';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { createRate } from '../../src/queue/rate.js';
import { createWakeUps } from '../../src/queue/wake-ups.js';
import { jobs, queueTables } from '../../src/schema.js';
import { type JobNotice, type LaterNotice, noticeOf, type WorkNotice } from '../../src/words/notice.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';

const database = useDatabase();
const registry = defineJobs({ send: job<{ n: number }>().queue('mail'), sweep: job() });
/** Its channel, as README and DESIGN say it: anybody can compute it. */
const channelSql = `'drizzle_queue_' || left(encode(sha256('public.jobs'), 'hex'), 16)`;

let heard: (WorkNotice | JobNotice | LaterNotice)[] = [];
let end = async (): Promise<void> => {};
let queue = createQueue(registry);

beforeAll(async () => {
  const listener = postgres(database.url, { max: 1, onnotice: () => {} });
  const [row] = await listener.unsafe<{ channel: string }[]>(`select ${channelSql} as channel`);
  await listener.listen(row?.channel ?? '', (text) => {
    const notice = noticeOf(text);
    if (notice?.type === 'work' || notice?.type === 'job' || notice?.type === 'later') heard.push(notice);
  });
  end = () => listener.end();
});
afterAll(() => end());
beforeEach(async () => {
  await database.sql`truncate jobs`;
  queue = createQueue(registry);
  heard = [];
});

/** All that was told until now: told in order, so whatever came before the last has been heard with it. */
async function heardUntilNow(): Promise<
  readonly (readonly [queue: string, jobs: number | 'job' | 'later'])[]
> {
  const seed = Math.floor(Math.random() * 1e9);
  await database.sql.unsafe(`select pg_notify(${channelSql}, 'work 0 ${seed} the end')`);
  await until(() => heard.some((notice) => notice.seed === seed), { what: 'the end' });
  const before = heard.filter((notice) => notice.queue !== 'the end');
  heard = [];
  return before.map((notice) => [notice.queue, notice.type === 'work' ? notice.jobs : notice.type]);
}

describe('a wake-up', () => {
  it('goes out with the commit of an enqueue, not before', async () => {
    await database.db.transaction(async (tx) => {
      await queue.enqueue(tx, 'send', { n: 1 });
      expect(await heardUntilNow()).toEqual([]);
    });
    expect(await heardUntilNow()).toEqual([['mail', 'job']]);
  });

  it('goes out with an enqueue outside of a transaction', async () => {
    await queue.enqueue(database.db, 'sweep');
    expect(await heardUntilNow()).toEqual([['default', 'job']]);
  });

  it('does not go out with a rollback', async () => {
    await expect(
      database.db.transaction(async (tx) => {
        await queue.enqueue(tx, 'send', { n: 1 });
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await heardUntilNow()).toEqual([]);
  });

  it('names the first job of a transaction, and is one of the queue for all others, however long it takes', async () => {
    await database.db.transaction(async (tx) => {
      for (let n = 0; n < 5; n++) await queue.enqueue(tx, 'send', { n });
      await queue.enqueue(tx, 'sweep');
      await delay(30);
      await queue.enqueue(tx, 'send', { n: 6 });
    });
    expect(await heardUntilNow()).toEqual([
      ['mail', 'job'],
      ['mail', 1],
      ['default', 'job'],
    ]);
  });

  it('goes out from a transaction whose savepoint took the first back', async () => {
    await database.db.transaction(async (tx) => {
      await tx
        .transaction(async (inner) => {
          await queue.enqueue(inner, 'send', { n: 1 });
          throw new Error('no');
        })
        .catch(() => {});
      await queue.enqueue(tx, 'send', { n: 2 });
    });
    expect(await heardUntilNow()).toEqual([['mail', 'job']]);
  });

  it('is one of a queue for a list, with how many jobs there are, also for one of several statements', async () => {
    const send = Array.from({ length: 12_000 }, (_, n) => ({ kind: 'send' as const, payload: { n } }));
    await queue.enqueueMany(database.db, [...send, { kind: 'sweep' }]);
    expect(await heardUntilNow()).toEqual([
      ['mail', 12_000],
      ['default', 1],
    ]);
    expect(await database.sql`select count(*)::int as n from jobs`).toEqual([{ n: 12_001 }]);
    await queue.enqueueMany(database.db, []);
    expect(await heardUntilNow()).toEqual([]);
  });

  it('tells apart what is due and what will be', async () => {
    await queue.enqueueMany(database.db, [
      { kind: 'send', payload: { n: 1 }, delayMs: 3_600_000 },
      { kind: 'send', payload: { n: 2 }, runAt: new Date(Date.now() + 60_000) },
    ]);
    expect(await heardUntilNow()).toEqual([['mail', 'later']]);
    await database.db.transaction(async (tx) => {
      await queue.enqueue(tx, 'send', { n: 1 }, { delayMs: 50 });
      await queue.enqueue(tx, 'send', { n: 2 });
      await queue.enqueue(tx, 'send', { n: 3 }, { delayMs: 60 });
    });
    expect(await heardUntilNow()).toEqual([
      ['mail', 'later'],
      ['mail', 'job'],
    ]);
  });

  it('tells both of a time that is past by this machine’s clock, which may not be the database’s', async () => {
    await queue.enqueue(database.db, 'send', { n: 3 }, { runAt: '2020-01-01T00:00:00Z' });
    expect(await heardUntilNow()).toEqual([
      ['mail', 1],
      ['mail', 'later'],
    ]);
    await queue.enqueueMany(database.db, [
      { kind: 'send', payload: { n: 3 }, runAt: new Date(Date.now() - 1_000) },
    ]);
    expect(await heardUntilNow()).toEqual([
      ['mail', 1],
      ['mail', 'later'],
    ]);
  });

  it('is not sent where the enqueue says so', async () => {
    await queue.enqueue(database.db, 'send', { n: 1 }, { wake: false });
    await queue.enqueueMany(database.db, [{ kind: 'send', payload: { n: 1 }, wake: false }]);
    expect(await heardUntilNow()).toEqual([]);
    await queue.enqueueMany(database.db, [
      { kind: 'send', payload: { n: 1 }, wake: false },
      { kind: 'send', payload: { n: 2 }, wake: true },
    ]);
    expect(await heardUntilNow()).toEqual([['mail', 1]]);
  });

  it('does not go out with a duplicate, and goes out with the next job that is none', async () => {
    const key = { dedupeKey: 'k' };
    await queue.enqueue(database.db, 'send', { n: 1 }, key);
    expect(await heardUntilNow()).toEqual([['mail', 'job']]);
    await database.db.transaction(async (tx) => {
      await queue.enqueue(tx, 'send', { n: 2 }, key);
      await queue.enqueueMany(tx, [{ kind: 'send', payload: { n: 3 }, ...key }]);
      expect((await queue.enqueue(tx, 'send', { n: 4 })).duplicate).toBe(false);
      await queue.enqueue(tx, 'send', { n: 5 }, key);
    });
    expect(await heardUntilNow()).toEqual([['mail', 'job']]);
    await queue.enqueue(database.db, 'send', { n: 6 }, key);
    await queue.enqueueMany(database.db, [{ kind: 'send', payload: { n: 7 }, ...key }]);
    expect(await heardUntilNow()).toEqual([]);
  });

  it('of a list counts the jobs that were inserted', async () => {
    const list = ['a', 'b', 'a', 'c'].map((dedupeKey) => ({ kind: 'sweep', dedupeKey }) as const);
    await queue.enqueueMany(database.db, list);
    expect(await heardUntilNow()).toEqual([['default', 3]]);
    await queue.enqueueMany(database.db, [...list, { kind: 'sweep' }, { kind: 'send', payload: { n: 1 } }]);
    expect(await heardUntilNow()).toEqual([
      ['default', 1],
      ['mail', 1],
    ]);
  });

  it.each(['replace', 'debounce'] as const)('goes out with a %s that makes a job due sooner', async (way) => {
    const options = { dedupeKey: 'k', onDuplicate: way };
    const replace = (delayMs: number) =>
      queue.enqueue(database.db, 'send', { n: delayMs }, { ...options, delayMs });
    await replace(60_000);
    expect(await heardUntilNow()).toEqual([['mail', 'later']]);
    await replace(90_000);
    expect(await heardUntilNow()).toEqual([]);
    await replace(30_000);
    expect(await heardUntilNow()).toEqual([['mail', 'later']]);
    await queue.enqueueMany(database.db, [{ kind: 'send', payload: { n: 0 }, ...options }]);
    expect(await heardUntilNow()).toEqual([['mail', 'job']]);
    await database.sql`update jobs set queue = 'elsewhere', run_at = run_at - interval '1 hour'`;
    await replace(0);
    expect(await heardUntilNow()).toEqual([['mail', 'job']]);
  });

  it('is a boolean, or refused before any SQL', async () => {
    await expect(queue.enqueue(database.db, 'send', { n: 1 }, { wake: 1 as never })).rejects.toThrow(
      /wake.*true or false/,
    );
    expect(await database.sql`select from jobs`).toHaveLength(0);
  });
});

it('each table has a channel of its own, which SQL can compute', async () => {
  const other = queueTables({
    schema: pgSchema('a "schema" of an odd name, and longer than the 63 bytes of a name'),
  });
  for (const table of [jobs, other.jobs]) {
    const [row] = await database.sql<{ channel: string }[]>`
      select 'drizzle_queue_' || left(encode(sha256(convert_to(${tableKey(table)}, 'UTF8')), 'hex'), 16) as channel`;
    expect(row?.channel).toBe(channelOf(table));
  }
  expect(channelOf(other.jobs)).not.toBe(channelOf(jobs));
});

describe('of many enqueues', () => {
  const now = vi.spyOn(performance, 'now');
  afterAll(() => now.mockRestore());
  const db = drizzle({ client: postgres({ max: 1 }) });
  const one = [{ queue: 'mail', when: { delayMs: 0 }, wake: true }];

  /**
   * How many of so many enqueues a second are told over two seconds, where others enqueue so many, or so many ids are
   * lost to duplicates of our own.
   */
  function toldOf(own: number, others: number, lost = 0): number {
    const wakeUps = createWakeUps();
    const each = (own + others + lost) / own;
    let told = 0;
    for (let n = 0; n < own * 2; n++) {
      now.mockReturnValue((n * 1_000) / own);
      told += wakeUps.notices(db, one).length;
      wakeUps.inserted([Math.round((n + 1) * each)], lost / own);
    }
    return told;
  }

  it('all are told while few jobs come', () => {
    expect(toldOf(150, 0)).toBe(300);
  });

  it('duplicates are no jobs that come', () => {
    expect(toldOf(150, 0, 900)).toBe(300);
    expect(toldOf(1_500, 0, 9_000)).toBe(toldOf(1_500, 0));
  });

  it('about fifty a second are told while many come', () => {
    expect(toldOf(1_500, 0)).toBeLessThan(500); // of 3,000, and the first 375 are told before it is known
    expect(toldOf(1_500, 0)).toBeGreaterThan(420);
  });

  it('fewer are told by each process the more there are, and at least five a second', () => {
    expect(toldOf(100, 900)).toBeLessThan(40);
    expect(toldOf(100, 90_000)).toBeGreaterThan(18);
  });

  it('one that failed is not counted', () => {
    const wakeUps = createWakeUps();
    for (let n = 0; n < 300; n++) {
      now.mockReturnValue(n);
      wakeUps.notices(db, one);
      wakeUps.inserted([n + 1]);
    }
    wakeUps.notices(db, one);
    expect(wakeUps.notices(db, one)).toHaveLength(0);
    wakeUps.failed(one);
    expect(wakeUps.notices(db, one)).toHaveLength(1);
  });

  it('a single job is named while few come, and once in a transaction', async () => {
    const wakeUps = createWakeUps();
    now.mockReturnValue(0);
    const [job] = one;
    if (!job) throw new Error('There is a job.');
    expect(wakeUps.tailOfJob(db, job)).toMatch(/^\d+ mail$/);
    expect(wakeUps.tailOfJob(db, { ...job, when: { delayMs: 5 } })).toBeUndefined();
    expect(wakeUps.tailOfJob(db, { ...job, when: { runAt: '2020-01-01T00:00:00Z' } })).toBeUndefined();
    expect(wakeUps.tailOfJob(db, { ...job, wake: false })).toBeUndefined();
    const tx = Object.assign(Object.create(db), { rollback: () => {} });
    expect(wakeUps.tailOfJob(tx, job)).toBeDefined();
    expect(wakeUps.tailOfJob(tx, job)).toBeUndefined();
    expect(wakeUps.notices(tx, one)).toHaveLength(1);
    expect(wakeUps.notices(tx, one)).toHaveLength(0);
    for (let n = 0; n < 300; n++) {
      now.mockReturnValue(n);
      wakeUps.inserted([n + 1]);
    }
    expect(wakeUps.tailOfJob(db, job)).toBeUndefined();
  });

  it('the rate is that of the ids, and never less than the own', () => {
    const rate = createRate();
    expect(rate.perSecond()).toEqual({ table: 0, own: 0 });
    rate.had(1, 101, 0);
    rate.had(1, 200, 249);
    expect(rate.perSecond()).toEqual({ table: 0, own: 0 });
    rate.had(1, 225, 250);
    expect(rate.perSecond()).toEqual({ table: 500, own: 12 });
    rate.had(10, 5, 500);
    expect(rate.perSecond()).toEqual({ table: 40, own: 40 });
    rate.lost(50);
    rate.had(5, 105, 750);
    expect(rate.perSecond()).toEqual({ table: 200, own: 20 });
  });
});
