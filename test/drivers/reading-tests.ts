/** What is read of jobs, and how their results are kept and waited for. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { createQueue, type Database, defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import { until } from '../support/until.js';
import type { UsedDriver } from './stage.js';

type Letter = { readonly to: string; readonly snake_case?: { readonly inner_key: number } };
const registry = defineJobs({
  count: job<{ n: number }, { twice: number } | null>({ retry: () => 0 })
    .queue('numbers')
    .onComplete('keep'),
  letter: job<Letter>({ maxAttempts: 3 }),
});
export const queue = createQueue(registry);

/** Does something beside a worker that doubles numbers, has none for 0, fails for negative ones and discards letters. */
export async function withCounter<Answer>(db: Database, work: () => Promise<Answer>): Promise<Answer> {
  const worker = createWorker({
    db,
    registry,
    queues: { numbers: 3, default: 3 },
    handlers: {
      count: ({ n }, job) => {
        if (n < 0) return job.discard(`there is no number ${n}`);
        if (n === 7) return db.transaction((tx) => job.complete(tx, { twice: 14 }));
        return n === 0 ? null : { twice: 2 * n };
      },
      letter: ({ to }, job) => job.discard(`there is no ${to}`),
    },
    heartbeatMs: 100,
    pollIntervalMs: 20,
    log: false,
  });
  await worker.start();
  try {
    return await work();
  } finally {
    await worker.stop();
  }
}

export function readingTests(used: UsedDriver): void {
  it('get a job as it was enqueued, and none where there is none', async () => {
    const runAt = new Date('2999-01-01T00:00:00.123Z');
    const payload = { to: 'it\'s "me" 😀', snake_case: { inner_key: 1 } };
    const meta = { trace_id: 'a', nested: [null, 1.5] };
    const { id } = await queue.enqueue(used.db, 'letter', payload, {
      runAt,
      priority: -3,
      timeoutMs: 5_000,
      meta,
      dedupeKey: 'k',
    });
    expect(await queue.get(used.db, id)).toEqual({
      id,
      queue: 'default',
      kind: 'letter',
      payload,
      payloadVersion: 1,
      priority: -3,
      runAt,
      state: 'available',
      attempts: 0,
      maxAttempts: 3,
      timeoutMs: 5_000,
      lockedBy: null,
      heartbeatAt: null,
      startedAt: null,
      lastError: null,
      errors: [],
      dedupeKey: 'k',
      meta,
      result: null,
      createdAt: expect.any(Date),
      finishedAt: null,
    });
    expect(await queue.get(used.db, id + 1)).toBeUndefined();
    expect(await used.db.transaction((tx) => queue.get(tx, id))).toMatchObject({ id });
  });

  it('get times that no Date can be, as the first and the last that it is', async () => {
    const { id } = await queue.enqueue(used.db, 'letter', { to: 'you' });
    const runAt = async () => (await queue.get(used.db, id))?.runAt.toISOString();
    await used.read(sql`update jobs set run_at = 'infinity'`);
    expect(await runAt()).toBe('9999-12-31T23:59:59.999Z');
    await used.read(sql`update jobs set run_at = '-infinity'`);
    expect(await runAt()).toBe('0001-01-01T00:00:00.000Z');
    await used.read(sql`update jobs set run_at = '0044-03-15 BC'`);
    expect(await runAt()).toBe('0001-01-01T00:00:00.000Z');
    await used.read(sql`update jobs set run_at = '1969-12-31 23:59:59.998999+00'`);
    expect(await runAt()).toBe('1969-12-31T23:59:59.998Z');
  });

  it('list pages from either end', async () => {
    const list = Array.from({ length: 7 }, (_, n) => ({
      kind: 'letter' as const,
      payload: { to: String(n) },
    }));
    const ids = (await queue.enqueueMany(used.db, list)).map(({ id }) => id);
    const pages = async (order: 'newest' | 'oldest' | undefined) => {
      const found: number[][] = [];
      for (let after: number | undefined, first = true; first || after !== undefined; first = false) {
        const page = await queue.list(used.db, { limit: 3, order, after });
        found.push(page.jobs.map(({ id }) => id));
        after = page.next;
      }
      return found;
    };
    const [a, b, c, d, e, f, g] = ids;
    expect(await pages(undefined)).toEqual([[g, f, e], [d, c, b], [a]]);
    expect(await pages('oldest')).toEqual([[a, b, c], [d, e, f], [g]]);
    expect(await queue.list(used.db, { limit: 7 })).toMatchObject({ next: undefined });
    expect(await queue.list(used.db, { after: a })).toEqual({ jobs: [], next: undefined });
  });

  it('list by what is said of the jobs', async () => {
    await queue.enqueueMany(used.db, [
      { kind: 'count', payload: { n: 1 } },
      { kind: 'letter', payload: { to: 'a' } },
      { kind: 'letter', payload: { to: 'b' }, queue: 'numbers' },
      { kind: 'letter', payload: { to: 'c' } },
    ]);
    await used.read(sql`
      update jobs set state = 'discarded', finished_at = '2020-01-02T00:00:00Z', last_error = 'no "luck" 50%' where id > 2`);
    await used.read(sql`update jobs set finished_at = '2020-01-04T00:00:00Z' where id = 4`);
    const found = async (filter: Parameters<typeof queue.list>[1]) =>
      (await queue.list(used.db, filter)).jobs.map(({ id }) => id);
    expect(await found({})).toEqual([4, 3, 2, 1]);
    expect(await found({ kind: 'letter' })).toEqual([4, 3, 2]);
    expect(await found({ kind: 'letter', queue: 'numbers' })).toEqual([3]);
    expect(await found({ state: 'available' })).toEqual([2, 1]);
    expect(await found({ state: 'discarded', finishedBefore: '2020-01-03T00:00:00Z' })).toEqual([3]);
    expect(await found({ finishedAfter: new Date('2020-01-02T00:00:00Z') })).toEqual([4]);
    expect(await found({ errorMatches: '"luck" 5' })).toEqual([4, 3]);
    expect(await found({ errorMatches: 'l_ck' })).toEqual([]);
    expect(await found({ queue: 'none' })).toEqual([]);
  });

  it('count by queue and kind what each job waits for, or is', async () => {
    await queue.enqueueMany(used.db, [
      ...Array.from({ length: 9 }, () => ({ kind: 'count' as const, payload: { n: 1 } })),
      { kind: 'letter', payload: { to: 'a' } },
    ]);
    await used.read(sql`
      update jobs
      set    state        = (array['available', 'available', 'available', 'available', 'running', 'completed', 'discarded', 'discarded', 'cancelled'])[id::int],
             run_at       = case when id = 1 then '2020-01-01T00:00:00Z' when id in (3, 4) then '2999-01-01' else run_at end,
             attempts     = case when id in (2, 4) then 1 else 0 end,
             finished_at  = case when id > 5 then now() end,
             locked_by    = case when id = 5 then 'worker/1' end,
             heartbeat_at = case when id = 5 then now() end,
             started_at   = case when id = 5 then now() end
      where  id < 10`);
    const none = { due: 0, scheduled: 0, retrying: 0, running: 0, completed: 0, discarded: 0, cancelled: 0 };
    const letters = { ...none, queue: 'default', kind: 'letter', due: 1, oldestDueAt: expect.any(Date) };
    const numbers = {
      queue: 'numbers',
      kind: 'count',
      due: 2,
      scheduled: 1,
      retrying: 1,
      running: 1,
      completed: 1,
      discarded: 2,
      cancelled: 1,
      oldestDueAt: new Date('2020-01-01T00:00:00Z'),
    };
    expect(await queue.counts(used.db)).toEqual([letters, numbers]);
    expect(await queue.counts(used.db, { queue: 'numbers' })).toEqual([numbers]);
    expect(await queue.counts(used.db, { kind: 'letter' })).toEqual([letters]);
    expect(await queue.counts(used.db, { state: 'discarded' })).toEqual([
      { ...none, queue: 'numbers', kind: 'count', discarded: 2, oldestDueAt: null },
    ]);
    expect(await queue.counts(used.db, { queue: 'none' })).toEqual([]);
  });

  it('count what the same transaction has enqueued as due', async () => {
    const due = await used.db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      await queue.enqueue(tx, 'letter', { to: 'you' });
      return (await queue.counts(tx)).map((each) => each.due);
    });
    expect(due).toEqual([1]);
  });

  it('group dead letters by kind and error', async () => {
    await queue.enqueueMany(
      used.db,
      Array.from({ length: 8 }, (_, n) => ({ kind: 'letter' as const, payload: { to: String(n) } })),
    );
    await used.read(sql`
      update jobs
      set    state       = 'discarded',
             finished_at = '2020-01-01T00:00:00Z'::timestamptz + id * interval '1 hour',
             last_error  = (array['Error: no order 12345' || chr(10) || '  at a', 'Error: no order 67890' || chr(10) || '  at b',
                                  'Error: mail answered 503', 'Error: mail answered 422', 'Error: no order 1234567', null])[id::int],
             errors      = case when id = 7 then '[{"attempt": 1, "at": "", "error": "Error: old"}, {"attempt": 2, "at": "", "error": "Error: unique"}]'::jsonb
                                else '[]' end
      where  id < 8`);
    const at = (hour: number) => new Date(Date.UTC(2020, 0, 1, hour));
    const one = (id: number, error: string | null) => {
      return { kind: 'letter', error, count: 1, firstAt: at(id), lastAt: at(id), ids: [id] };
    };
    const orders = {
      kind: 'letter',
      error: 'Error: no order #',
      count: 3,
      firstAt: at(1),
      lastAt: at(5),
      ids: [5, 2, 1],
    };
    expect(await queue.deadLetters(used.db)).toEqual([
      orders,
      one(7, 'Error: unique'),
      one(6, null),
      one(4, 'Error: mail answered 422'),
      one(3, 'Error: mail answered 503'),
    ]);
    expect(await queue.deadLetters(used.db, { limit: 1 })).toEqual([orders]);
    expect(await queue.deadLetters(used.db, { errorMatches: '503' })).toEqual([
      one(3, 'Error: mail answered 503'),
    ]);
    expect(await queue.deadLetters(used.db, { kind: 'count' })).toEqual([]);
    expect(await queue.deadLetters(used.db, { finishedBefore: at(2) })).toMatchObject([{ ids: [1] }]);
  });

  it('wait for what handlers give, kept by a return or in a transaction', async () => {
    await withCounter(used.db, async () => {
      const wait = async (n: number) => {
        const { id } = await queue.enqueue(used.db, 'count', { n });
        return queue.wait(used.db, 'count', id);
      };
      expect(await wait(21)).toEqual({ twice: 42 });
      expect(await wait(7)).toEqual({ twice: 14 });
      expect(await wait(0)).toBeNull();
      await expect(wait(-12345)).rejects.toMatchObject({
        code: 'JOB_DISCARDED',
        message: expect.stringContaining('was discarded: Discard: there is no number -12345'),
        data: { kind: 'count', lastError: 'Discard: there is no number -12345' },
      });
    });
    expect(await queue.list(used.db, { state: 'completed', order: 'oldest' })).toMatchObject({
      jobs: [
        { kind: 'count', result: { twice: 42 }, finishedAt: expect.any(Date), lockedBy: null },
        { result: { twice: 14 } },
        { result: null },
      ],
    });
  });

  it('join results with other tables, and narrow them by kind', async () => {
    const { id } = await queue.enqueue(used.db, 'count', { n: 3 });
    await withCounter(used.db, () =>
      until(async () => (await queue.get(used.db, id))?.state === 'completed', { what: 'the end' }),
    );
    const { jobs } = queue.tables;
    const [row] = await used.db
      .select({ kind: jobs.kind, payload: jobs.payload, result: jobs.result })
      .from(jobs);
    expect(queue.isKind(row, 'count') && row.result?.twice).toBe(6);
  });
}
