/** `onDuplicate: 'again'`: a job that waits becomes the new one, and a job that runs is to run once more as the new one. */
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { claim } from '../../src/sql/claim.js';
import { completeIn } from '../../src/sql/complete.js';
import { useDatabase } from '../support/database.js';
import { finish } from '../support/finish.js';
import { given, row, table, verbatim } from '../support/jobs.js';

const database = useDatabase();
const registry = defineJobs({
  reindex: job<{ n: number }>({ dedupeKey: () => 'all', onDuplicate: 'again', maxAttempts: 4 }),
  other: job<{ n: number }>({ rescueAfterMs: 5_000 }).queue('slow'),
});
const queue = createQueue(registry);
const lockedBy = 'worker/1';

afterEach(async () => {
  await database.sql`truncate jobs`;
});

const running = (columns = {}) =>
  given(database.sql).running({ kind: 'reindex', dedupeKey: 'all', payload: { n: 1 }, lockedBy, ...columns });
const dueInS = async (id: number): Promise<number> => {
  const [found] = await database.sql<[{ s: number }]>`
    select extract(epoch from run_at - clock_timestamp())::float8 as s from jobs where id = ${id}`;
  return found.s;
};
const complete = (id: number) =>
  finish(database.db, table, [{ id, lockedBy, outcome: { move: 'complete' } }]);

describe('a job that waits', () => {
  it('becomes the new one, and is to run once', async () => {
    const first = await queue.enqueue(database.db, 'reindex', { n: 1 }, { delayMs: 3_600_000 });
    const second = await queue.enqueue(database.db, 'reindex', { n: 2 }, { priority: 7 });
    expect([first.duplicate, second]).toEqual([false, { id: first.id, duplicate: true }]);
    const now = { payload: { n: 2 }, priority: 7, state: 'available', again: null };
    expect(await row(database.sql, first.id)).toMatchObject(now);
    expect(await dueInS(first.id)).toBeLessThan(1);
  });

  it('keeps its time where that is a retry’s', async () => {
    const columns = { kind: 'reindex', dedupeKey: 'all', attempts: 2, dueInS: 600 };
    const id = await given(database.sql).available(columns);
    const before = await row(database.sql, id);
    expect(await queue.enqueue(database.db, 'reindex', { n: 2 })).toEqual({ id, duplicate: true });
    const kept = { runAt: before?.runAt, attempts: 2, again: null };
    expect(await row(database.sql, id)).toMatchObject({ ...kept, payload: { n: 2 } });
  });
});

describe('a job that runs', () => {
  it('stays with its worker, and its row says what the next run will be', async () => {
    const id = await running({ attempts: 3 });
    const before = await row(database.sql, id);
    const options = { priority: 5, maxAttempts: 2, timeoutMs: 1_234, meta: { trace: 'x' }, delayMs: 60_000 };
    expect(await queue.enqueue(database.db, 'reindex', { n: 2 }, options)).toEqual({ id, duplicate: true });
    const { state, lockedBy, startedAt, heartbeatAt, attempts } = before ?? {};
    expect(await row(database.sql, id)).toMatchObject({
      ...{ state, lockedBy, startedAt, heartbeatAt, attempts },
      payload: { n: 2 },
      priority: 5,
      maxAttempts: 2,
      timeoutMs: 1_234,
      meta: { trace: 'x' },
      again: true,
    });
    await complete(id);
    expect(await row(database.sql, id)).toMatchObject({ state: 'available', payload: { n: 2 }, again: null });
    expect(Math.abs((await dueInS(id)) - 60)).toBeLessThan(5);
  });

  it('is asked for one more run however often; the last one counts', async () => {
    const id = await running();
    for (const n of [2, 3, 4])
      expect(await queue.enqueue(database.db, 'reindex', { n })).toEqual({ id, duplicate: true });
    await complete(id);
    const [next] = (await claimAll('worker/2')).jobs;
    expect(next).toMatchObject({ id, payload: { n: 4 }, attempt: 1 });
    await finish(database.db, table, [{ id, lockedBy: 'worker/2', outcome: { move: 'complete' } }]);
    expect(await row(database.sql, id)).toBeUndefined();
  });

  it('is not asked by who skips, replaces or debounces, also where another has asked', async () => {
    const id = await running();
    const ways = ['skip', 'replace', 'debounce'] as const;
    for (const onDuplicate of ways) {
      expect(await queue.enqueue(database.db, 'reindex', { n: 9 }, { onDuplicate })).toEqual({
        id,
        duplicate: true,
      });
    }
    expect(await row(database.sql, id)).toMatchObject({ payload: { n: 1 }, again: null });
    await queue.enqueue(database.db, 'reindex', { n: 2 });
    const asked = await verbatim(database.sql, id);
    for (const onDuplicate of ways) await queue.enqueue(database.db, 'reindex', { n: 9 }, { onDuplicate });
    expect(await verbatim(database.sql, id)).toBe(asked);
  });

  it('is as it was after a rollback', async () => {
    const id = await running();
    const before = await row(database.sql, id);
    const undone = database.db.transaction(async (tx) => {
      expect(await queue.enqueue(tx, 'reindex', { n: 2 })).toEqual({ id, duplicate: true });
      tx.rollback();
    });
    await expect(undone).rejects.toThrow();
    expect(await row(database.sql, id)).toEqual(before);
  });

  it('keeps its limit for rescues where that of the next run is shorter', async () => {
    const id = await given(database.sql).running({
      kind: 'other',
      queue: 'slow',
      dedupeKey: 'k',
      timeoutS: 60,
    });
    const again = { dedupeKey: 'k', onDuplicate: 'again' } as const;
    await queue.enqueue(database.db, 'other', { n: 2 }, again);
    expect(await row(database.sql, id)).toMatchObject({ timeoutS: 60 });
    const waits = await given(database.sql).available({ kind: 'other', dedupeKey: 'l', timeoutS: 60 });
    await queue.enqueue(database.db, 'other', { n: 2 }, { ...again, dedupeKey: 'l' });
    expect(await row(database.sql, waits)).toMatchObject({ timeoutS: 5 });
  });

  it('cannot end before those who ask have committed, and then it runs once more', async () => {
    const id = await running();
    await database.db.transaction(async (tx) => {
      await queue.enqueue(tx, 'reindex', { n: 2 });
      const [busy] = await complete(id);
      expect(busy).toMatchObject({ result: 'busy' });
    });
    expect((await complete(id))[0]).toMatchObject({ result: 'done' });
    expect(await row(database.sql, id)).toMatchObject({ state: 'available', payload: { n: 2 } });
  });

  it('may be asked by its own handler, in the transaction that completes it', async () => {
    const id = await running();
    await database.db.transaction(async (tx) => {
      await queue.enqueue(tx, 'reindex', { n: 2 });
      expect(await completeIn(tx, table, { id, lockedBy })).toBe(false); // execute.ts sends the other statement then
    });
    const done = await running({ dedupeKey: 'other' });
    const next = await database.db.transaction(async (tx) => {
      await completeIn(tx, table, { id: done, lockedBy });
      return queue.enqueue(tx, 'reindex', { n: 2 }, { dedupeKey: 'other' });
    });
    expect(next.duplicate).toBe(false);
  });
});

it('in a list, beside others', async () => {
  const id = await running();
  const waits = await given(database.sql).available({ kind: 'other', dedupeKey: 'k' });
  const again = { onDuplicate: 'again' } as const;
  const answers = await queue.enqueueMany(database.db, [
    { kind: 'other', payload: { n: 5 } },
    { kind: 'reindex', payload: { n: 2 } },
    { kind: 'other', payload: { n: 6 }, dedupeKey: 'k', ...again },
    { kind: 'reindex', payload: { n: 3 } },
    { kind: 'other', payload: { n: 7 }, dedupeKey: 'new', ...again },
  ]);
  expect(answers.map(({ duplicate }) => duplicate)).toEqual([false, true, true, true, false]);
  expect([answers[1]?.id, answers[2]?.id, answers[3]?.id]).toEqual([id, waits, id]);
  expect(await row(database.sql, id)).toMatchObject({ payload: { n: 3 }, again: true });
  expect(await row(database.sql, waits)).toMatchObject({ payload: { n: 6 }, again: null });
});

it('a kind without a key takes it, and it means nothing', async () => {
  const answers = [
    await queue.enqueue(database.db, 'other', { n: 1 }, { onDuplicate: 'again' }),
    await queue.enqueue(database.db, 'other', { n: 1 }, { onDuplicate: 'again' }),
  ];
  expect(answers.map(({ duplicate }) => duplicate)).toEqual([false, false]);
});

describe('a person', () => {
  it('who cancels a job cancels the further run as well, which a replay runs', async () => {
    const id = await running();
    await queue.enqueue(database.db, 'reindex', { n: 2 });
    expect(await queue.cancel(database.db, id)).toEqual({ id, result: 'done', state: 'cancelled' });
    expect(await row(database.sql, id)).toMatchObject({ state: 'cancelled', again: null });
    await queue.replay(database.db, id);
    expect((await claimAll('worker/2')).jobs).toMatchObject([{ id, payload: { n: 2 }, attempt: 1 }]);
    await finish(database.db, table, [{ id, lockedBy: 'worker/2', outcome: { move: 'complete' } }]);
    expect(await row(database.sql, id)).toBeUndefined();
  });

  it('who removes it removes both, and may not update it', async () => {
    const id = await running();
    await queue.enqueue(database.db, 'reindex', { n: 2 });
    expect(await queue.update(database.db, 'reindex', id, { n: 3 })).toMatchObject({ result: 'refused' });
    await queue.remove(database.db, id);
    expect(await row(database.sql, id)).toBeUndefined();
    expect((await complete(id))[0]).toMatchObject({ result: 'gone' });
  });
});

function claimAll(lockedBy: string) {
  const want = new Map([
    ['default', 10],
    ['slow', 10],
  ]);
  return claim(database.db, table, { want, kinds: ['reindex', 'other'], lockedBy });
}
