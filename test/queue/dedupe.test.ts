/** Dedupe keys: at most one unfinished job of a kind and key, and an answer that always names it. */
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job, QueueError } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { given, row } from '../support/jobs.js';
import { callPlainly, logged, queue as plainQueue } from './stage.js';

const database = useDatabase();
const registry = defineJobs({
  reindex: job<{ course: number; note?: string }>({ dedupeKey: ({ course }) => `course ${course}` }),
  refresh: job<{ n: number }>({ onDuplicate: 'replace', maxAttempts: 4, rescueAfterMs: 90_000 }),
  settle: job<{ n: number }>({
    dedupeKey: () => 'all',
    onDuplicate: 'debounce',
    maxWaitMs: 60_000,
  }).queue('slow'),
  sometimes: job<{ key: string | null }>({ dedupeKey: ({ key }) => key ?? undefined }),
  ping: job(),
});
const queue = createQueue(registry);

afterEach(async () => {
  await database.sql`truncate jobs`;
});

const count = async (): Promise<number> => {
  const [found] = await database.sql<[{ n: number }]>`select count(*)::int as n from jobs`;
  return found.n;
};
/** Until the job's time, in seconds. */
const dueInS = async (id: number): Promise<number> => {
  const [found] = await database.sql<[{ s: number }]>`
    select extract(epoch from run_at - clock_timestamp())::float8 as s from jobs where id = ${id}`;
  return found.s;
};

describe('a job whose key is taken', () => {
  it('by a job that waits is not inserted, and that one stays as it is', async () => {
    const first = await queue.enqueue(database.db, 'reindex', { course: 1, note: 'first' });
    const before = await row(database.sql, first.id);
    const second = await queue.enqueue(
      database.db,
      'reindex',
      { course: 1, note: 'second' },
      { priority: 9 },
    );
    expect(first).toEqual({ id: expect.any(Number), duplicate: false });
    expect(second).toEqual({ id: first.id, duplicate: true });
    expect(await row(database.sql, first.id)).toEqual(before);
    expect(before).toMatchObject({ dedupeKey: 'course 1' });
    expect(await count()).toBe(1);
  });

  it.each(['skip', 'replace', 'debounce'] as const)(
    'by one that runs is not inserted, and that one stays as it is and free for its worker: %s',
    async (onDuplicate) => {
      const id = await given(database.sql).running({ kind: 'refresh', dedupeKey: 'k' });
      const before = await row(database.sql, id);
      await database.db.transaction(async (tx) => {
        const options = { dedupeKey: 'k', onDuplicate };
        expect(await queue.enqueue(tx, 'refresh', { n: 2 }, options)).toEqual({ id, duplicate: true });
        // As a finish would: no lock of ours in its way.
        expect(await database.sql`select 1 from jobs where id = ${id} for update skip locked`).toHaveLength(
          1,
        );
      });
      expect(await row(database.sql, id)).toEqual(before);
    },
  );

  it.each(['completed', 'discarded', 'cancelled'] as const)(
    'by one that is %s is inserted',
    async (state) => {
      const over = await given(database.sql)[state]({ kind: 'reindex', dedupeKey: 'course 1' });
      const { id, duplicate } = await queue.enqueue(database.db, 'reindex', { course: 1 });
      expect({ duplicate, other: id !== over }).toEqual({ duplicate: false, other: true });
    },
  );

  it('is inserted where it is of another kind, and not where it would go to another queue', async () => {
    const key = { dedupeKey: 'all' };
    const first = await queue.enqueue(database.db, 'settle', { n: 1 });
    expect((await queue.enqueue(database.db, 'reindex', { course: 1 }, key)).duplicate).toBe(false);
    expect((await queue.enqueue(database.db, 'ping', undefined, key)).duplicate).toBe(false);
    // The kind was on another queue when a job of it was enqueued.
    await database.sql`update jobs set queue = 'elsewhere' where id = ${first.id}`;
    const skip = { onDuplicate: 'skip' } as const;
    expect(await queue.enqueue(database.db, 'settle', { n: 2 }, skip)).toEqual({ ...first, duplicate: true });
  });
});

describe('a key', () => {
  it('of the enqueue wins over that of the kind; without one, any number is inserted', async () => {
    const mine = { dedupeKey: 'mine' };
    const { id } = await queue.enqueue(database.db, 'reindex', { course: 1 }, mine);
    expect((await queue.enqueue(database.db, 'reindex', { course: 1 })).duplicate).toBe(false);
    expect(await queue.enqueue(database.db, 'reindex', { course: 2 }, mine)).toEqual({ id, duplicate: true });
    for (let n = 0; n < 2; n++) {
      expect((await queue.enqueue(database.db, 'sometimes', { key: null })).duplicate).toBe(false);
      expect((await queue.enqueue(database.db, 'ping', undefined, { dedupeKey: undefined })).duplicate).toBe(
        false,
      );
    }
  });

  it.each([
    ['a space', ' '],
    ['quotes, commas and braces', `it's "NULL", {\\}`],
    ['512 characters of four bytes that do not compress', longKey()],
    ['composed', '\u00e9'],
    ['decomposed', 'e\u0301'],
  ])('may be %s, on each way', async (_, dedupeKey) => {
    const first = await queue.enqueue(database.db, 'ping', undefined, { dedupeKey });
    const again = { ...first, duplicate: true };
    expect(await queue.enqueue(database.db, 'ping', undefined, { dedupeKey })).toEqual(again);
    const replace = { dedupeKey, onDuplicate: 'replace' } as const;
    expect(await queue.enqueue(database.db, 'ping', undefined, replace)).toEqual(again);
    const other = { kind: 'ping', dedupeKey: 'another' } as const;
    const list = await queue.enqueueMany(database.db, [other, { kind: 'ping', dedupeKey }]);
    expect(list).toEqual([{ id: expect.any(Number), duplicate: false }, again]);
    expect((await row(database.sql, first.id))?.dedupeKey).toBe(dedupeKey);
  });

  const bad = ['', 'k'.repeat(513), 'k'.repeat(100_000), 'a\0b', '\ud83d', 5, {}, ['k'], true, () => 'k'];
  it.each(bad)('is refused before any SQL: %j', async (dedupeKey) => {
    const { db, statements } = logged(database.db.$client);
    const single = callPlainly(plainQueue.enqueue, db, 'ping', undefined, { dedupeKey });
    await expect(single).rejects.toThrow(/Expected `dedupeKey` to be a text of 1 to 512 characters/);
    const listed = callPlainly(plainQueue.enqueueMany, db, [{ kind: 'ping' }, { kind: 'ping', dedupeKey }]);
    await expect(listed).rejects.toMatchObject({ code: 'INVALID_OPTION', data: { index: 1 } });
    expect(statements).toEqual([]);
  });

  it.each(['', 5, null, 'k'.repeat(513), Promise.resolve('k')])(
    'that a kind gives is refused before any SQL, with the kind named: %j',
    async (key) => {
      const { db, statements } = logged(database.db.$client);
      const odd = createQueue(defineJobs({ odd: job({ dedupeKey: () => key as never }) }));
      const error = await odd.enqueue(db, 'odd').catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(QueueError);
      expect(error).toMatchObject({ code: 'INVALID_OPTION', data: { option: 'dedupeKey', kind: 'odd' } });
      expect(String(error)).toContain('Expected the `dedupeKey` of "odd" to give a text of 1 to 512');
      expect(statements).toEqual([]);
    },
  );

  it('that a kind fails to give is refused with what it threw', async () => {
    const cause = new Error('no key');
    const odd = createQueue(
      defineJobs({
        odd: job({
          dedupeKey: () => {
            throw cause;
          },
        }),
      }),
    );
    await expect(odd.enqueue(database.db, 'odd')).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: 'The `dedupeKey` of "odd" threw.',
      cause,
    });
    expect(await count()).toBe(0);
  });
});

describe('what to do about a duplicate', () => {
  it.each([
    [
      { onDuplicate: 'ignore' },
      "`onDuplicate` to be one of 'skip', 'replace', 'debounce', 'again', 'throttle', got \"ignore\"",
    ],
    [{ onDuplicate: 1 }, '`onDuplicate`'],
    [{ maxWaitMs: 5 }, "`maxWaitMs` to be left out where `onDuplicate` is not 'debounce', got 5"],
    [{ onDuplicate: 'replace', maxWaitMs: 5 }, '`maxWaitMs`'],
    [{ onDuplicate: 'debounce', maxWaitMs: -1 }, '`maxWaitMs` to be a number of ms from 0 to'],
    [{ onDuplicate: 'debounce', maxWaitMs: '5' }, '`maxWaitMs`'],
  ])('is refused for a kind and for an enqueue: %j', async (options, message) => {
    expect(() => Reflect.apply(job, undefined, [options])).toThrow(message);
    const refused = callPlainly(plainQueue.enqueue, database.db, 'ping', undefined, {
      dedupeKey: 'k',
      ...options,
    });
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    expect(await count()).toBe(0);
  });

  it('is the enqueue’s before the kind’s; a kind’s longest wait is for its own debounce', async () => {
    const { id } = await queue.enqueue(database.db, 'settle', { n: 1 }, { delayMs: 1_000 });
    await queue.enqueue(database.db, 'settle', { n: 2 }, { onDuplicate: 'skip' });
    expect((await row(database.sql, id))?.payload).toEqual({ n: 1 });
    await queue.enqueue(database.db, 'settle', { n: 3 }, { onDuplicate: 'replace', delayMs: 3_600_000 });
    expect((await row(database.sql, id))?.payload).toEqual({ n: 3 });
    expect(await dueInS(id)).toBeGreaterThan(3_500);
    await queue.enqueue(database.db, 'settle', { n: 4 }, { delayMs: 3_600_000, maxWaitMs: 120_000 });
    expect(await dueInS(id)).toBeGreaterThan(100);
    expect(await dueInS(id)).toBeLessThan(121);
  });
});

describe('replace', () => {
  it('gives a job that waits all that the enqueue says', async () => {
    const dedupeKey = 'k';
    const id = await given(database.sql).available({
      kind: 'refresh',
      queue: 'old',
      dedupeKey,
      dueInS: 3_600,
    });
    const options = { dedupeKey, priority: 7, delayMs: 60_000 };
    expect(await queue.enqueue(database.db, 'refresh', { n: 2 }, options)).toEqual({ id, duplicate: true });
    const replaced = { payload: { n: 2 }, priority: 7, maxAttempts: 4, timeoutS: 90, queue: 'default' };
    expect(await row(database.sql, id)).toMatchObject({ ...replaced, state: 'available', dedupeKey });
    expect(Math.abs((await dueInS(id)) - 60)).toBeLessThan(5);
    const runAt = '2099-01-02T03:04:05.678Z';
    await queue.enqueue(database.db, 'refresh', { n: 3 }, { dedupeKey, runAt });
    expect((await row(database.sql, id))?.runAt.toISOString()).toBe(runAt);
    expect(await count()).toBe(1);
  });

  it.each(['replace', 'debounce'] as const)(
    '%s does not cut the pause before a retry',
    async (onDuplicate) => {
      const columns = { kind: 'refresh', dedupeKey: 'k', attempts: 2, dueInS: 600, lastError: 'no luck' };
      const id = await given(database.sql).available(columns);
      const before = await row(database.sql, id);
      const options = { dedupeKey: 'k', onDuplicate };
      expect(await queue.enqueue(database.db, 'refresh', { n: 2 }, options)).toEqual({ id, duplicate: true });
      const kept = { runAt: before?.runAt, attempts: 2, lastError: 'no luck' };
      expect(await row(database.sql, id)).toMatchObject({ ...kept, payload: { n: 2 } });
    },
  );

  it('counts its delay from the call, not from the start of the transaction', async () => {
    const id = await given(database.sql).available({ kind: 'refresh', dedupeKey: 'k', dueInS: 3_600 });
    await database.db.transaction(async (tx) => {
      await tx.execute('select pg_sleep(0.01)');
      await queue.enqueue(tx, 'refresh', { n: 2 }, { dedupeKey: 'k' });
      const [time] = [...(await tx.execute(`select run_at > now() as later from jobs where id = ${id}`))];
      expect(time).toEqual({ later: true });
    });
  });
});

describe('debounce', () => {
  it('moves the job to the time of each enqueue, and no further than the longest wait', async () => {
    const { id } = await queue.enqueue(database.db, 'settle', { n: 0 }, { delayMs: 10_000 });
    for (const [n, delayMs] of [20_000, 5_000, 30_000].entries()) {
      const moved = await queue.enqueue(database.db, 'settle', { n }, { delayMs });
      expect(moved).toEqual({ id, duplicate: true });
      expect(Math.abs((await dueInS(id)) - delayMs / 1_000)).toBeLessThan(3);
      expect((await row(database.sql, id))?.payload).toEqual({ n });
    }
    await database.sql`update jobs set created_at = created_at - interval '50 s'`;
    await queue.enqueue(database.db, 'settle', { n: 4 }, { delayMs: 30_000 });
    const [last] = await database.sql`
      select run_at = created_at + interval '60 s' as last from jobs where id = ${id}`;
    expect(last).toEqual({ last: true });
  });

  it('keeps the first time within the longest wait as well', async () => {
    const { id } = await queue.enqueue(database.db, 'settle', { n: 0 }, { delayMs: 3_600_000 });
    expect(await dueInS(id)).toBeLessThan(61);
    const other = { dedupeKey: 'other', onDuplicate: 'debounce', delayMs: 3_600_000 } as const;
    const unlimited = await queue.enqueue(database.db, 'ping', undefined, other);
    expect(await dueInS(unlimited.id)).toBeGreaterThan(3_500);
  });
});

/** Of the last planes, where a character has four bytes; the same in each run. */
function longKey(): string {
  let seed = 7;
  return Array.from({ length: 512 }, () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return String.fromCodePoint(0x20_000 + (seed % 0xa_000));
  }).join('');
}
