/** What is enqueued: payloads, transactions, ids, and rows as Drizzle reads them. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { tableName } from '../../src/database/table-name.js';
import type { JsonValue } from '../../src/index.js';
import { jobThrottle } from '../../src/schema.js';
import { completeAgainIn, completeIn } from '../../src/sql/complete.js';
import { deleteThrottles } from '../../src/sql/delete-throttles.js';
import { mayDelete } from '../../src/sql/may-delete.js';
import { finish } from '../support/finish.js';
import { queue, table } from './app.js';
import { claimGreet } from './jobs.js';
import type { UsedDriver } from './stage.js';

const throttle = tableName(jobThrottle);

const payloads: readonly [JsonValue, string][] = [
  [{ a: 1, 'b"\\': [null, true, '😀', { '': -1.5 }] }, 'object'],
  [[1, 'two', [3]], 'array'],
  [[], 'array'],
  ['text', 'string'],
  ['{"looks":"like JSON"}', 'string'],
  ['\\u0000 and {a,"b"}', 'string'],
  [5, 'number'],
  [0.1, 'number'],
  [null, 'null'],
  [true, 'boolean'],
  [false, 'boolean'],
];

export function enqueueTests(used: UsedDriver): void {
  it('stores payloads of every JSON type as they are, by both ways', async () => {
    for (const [payload] of payloads) await queue.enqueue(used.db, 'greet', payload);
    await queue.enqueueMany(
      used.db,
      payloads.map(([payload]) => ({ kind: 'greet', payload })),
    );
    const expected = payloads.map(([payload, type]) => ({ payload, type }));
    const stored = await used.read(sql`select payload, jsonb_typeof(payload) as type from jobs order by id`);
    expect(stored).toEqual([...expected, ...expected]);
  });

  it('makes rows that Drizzle reads as their types say', async () => {
    const options = { runAt: '2027-01-01T08:00:00.123Z', priority: -7 };
    const { id } = await queue.enqueue(used.db, 'task', { does: 'end' }, options);
    const [row] = await used.db.select().from(queue.tables.jobs);
    expect(row).toEqual({
      id,
      queue: 'tasks',
      kind: 'task',
      payload: { does: 'end' },
      payloadVersion: 1,
      priority: -7,
      runAt: new Date('2027-01-01T08:00:00.123Z'),
      state: 'available',
      attempts: 0,
      maxAttempts: 10,
      timeoutS: 60,
      timeoutMs: null,
      lockedBy: null,
      heartbeatAt: null,
      startedAt: null,
      lastError: null,
      errors: [],
      dedupeKey: null,
      again: null,
      limitKey: null,
      meta: null,
      result: null,
      createdAt: expect.any(Date),
      finishedAt: null,
    });
  });

  it('leaves nothing after a rollback, of the transaction or of a savepoint', async () => {
    const rolledBack = used.db.transaction(async (tx) => {
      await queue.enqueue(tx, 'greet', 'lost');
      await queue.enqueueMany(tx, [{ kind: 'greet', payload: 'lost too' }]);
      tx.rollback();
    });
    await expect(rolledBack).rejects.toThrow();
    await used.db.transaction(async (tx) => {
      await queue.enqueue(tx, 'greet', 'kept');
      await tx.transaction((savepoint) => queue.enqueueMany(savepoint, [{ kind: 'greet', payload: 'kept' }]));
      const lost = tx.transaction(async (savepoint) => {
        await queue.enqueue(savepoint, 'greet', 'lost');
        savepoint.rollback();
      });
      await expect(lost).rejects.toThrow();
    });
    expect(await used.read(sql`select payload from jobs`)).toEqual([
      { payload: 'kept' },
      { payload: 'kept' },
    ]);
  });

  it('answers a list of 12,001 jobs in its order, from one transaction', async () => {
    const list = Array.from({ length: 12_001 }, (_, n) => ({ kind: 'greet', payload: n }) as const);
    const enqueued = await queue.enqueueMany(used.db, list);
    expect(enqueued.map(({ id }) => id)).toEqual(list.map(({ payload }) => payload + 1));
    const stored = await used.read(sql`
      select count(*)::int as jobs, count(distinct xmin::text)::int as transactions,
             bool_and(payload = to_jsonb(id - 1)) as "inOrder"
      from   jobs`);
    expect(stored).toEqual([{ jobs: 12_001, transactions: 1, inOrder: true }]);
  });

  it('names the job that holds a dedupe key, by both ways', async () => {
    const options = { dedupeKey: `it's "k", {\\}` };
    const first = await queue.enqueue(used.db, 'greet', 'first', options);
    const held = { id: first.id, duplicate: true };
    expect(first.duplicate).toBe(false);
    expect(await queue.enqueue(used.db, 'greet', 'second', options)).toEqual(held);
    const kinds = ['greet', 'greet', 'greet', 'greet'] as const;
    const keys = [undefined, 'other', options.dedupeKey, 'other'];
    const list = kinds.map((kind, n) => ({ kind, payload: n, dedupeKey: keys[n] }));
    const answers = await queue.enqueueMany(used.db, list);
    expect(answers.map(({ duplicate }) => duplicate)).toEqual([false, false, true, true]);
    expect(answers[2]).toEqual(held);
    expect(answers[3]?.id).toBe(answers[1]?.id);
    const stored = await used.read(sql`select id::float8 as id, payload from jobs order by payload::text`);
    const [plain, other] = answers;
    expect(stored).toEqual([
      { id: first.id, payload: 'first' },
      { id: plain?.id, payload: 0 },
      { id: other?.id, payload: 1 },
    ]);
  });

  it('has a job that runs run once more', async () => {
    const again = { dedupeKey: 'k', onDuplicate: 'again', priority: 3, meta: { of: 'two' } } as const;
    const { id } = await queue.enqueue(used.db, 'greet', 1, again);
    const stored = () =>
      used.read(sql`select state, payload::text, attempts, priority, meta::text, again::text from jobs`);
    await claimGreet(used, 1, 'w/1');
    expect(await queue.enqueue(used.db, 'greet', 2, again)).toEqual({ id, duplicate: true });
    expect(await queue.enqueueMany(used.db, [{ kind: 'greet', payload: 3, ...again }])).toEqual([
      { id, duplicate: true },
    ]);
    const now = { payload: '3', priority: 3, meta: '{"of": "two"}' };
    expect(await stored()).toEqual([{ ...now, state: 'running', attempts: 1, again: 'true' }]);
    const complete = { id, outcome: { move: 'complete' } } as const;
    expect(await finish(used.db, table, [{ ...complete, lockedBy: 'w/1' }])).toEqual([
      {
        id,
        lockedBy: 'w/1',
        result: 'done',
        state: 'completed',
        queue: 'default',
        dueInMs: expect.any(Number),
      },
    ]);
    expect(await stored()).toEqual([{ ...now, state: 'available', attempts: 0, again: null }]);
    expect(await claimGreet(used, 1, 'w/2')).toMatchObject([{ id, payload: 3, attempt: 1 }]);
    await used.db.transaction(async (tx) => {
      expect(await queue.enqueue(tx, 'greet', 4, again)).toEqual({ id, duplicate: true });
      expect(await completeIn(tx, table, { id, lockedBy: 'w/2' })).toBe(false);
      expect(await completeAgainIn(tx, table, { id, lockedBy: 'w/2' })).toBe('default');
    });
    expect(await claimGreet(used, 1, 'w/3')).toMatchObject([{ id, payload: 4, attempt: 1 }]);
    expect(await finish(used.db, table, [{ ...complete, lockedBy: 'w/3' }])).toMatchObject([
      { result: 'done', state: null },
    ]);
    expect(await stored()).toEqual([]);
  });

  it('throttles', async () => {
    const options = { dedupeKey: 'k', onDuplicate: 'throttle', periodMs: 60_000 } as const;
    const { id, duplicate } = await queue.enqueue(used.db, 'greet', 1, options);
    expect(duplicate).toBe(false);
    await used.read(sql`delete from jobs`);
    expect(await queue.enqueue(used.db, 'greet', 2, options)).toEqual({ id, duplicate: true });
    const undone = used.db.transaction(async (tx) => {
      const other = { ...options, dedupeKey: 'other' };
      const first = await queue.enqueue(tx, 'greet', 3, other);
      expect(await queue.enqueueMany(tx, [{ kind: 'greet', payload: 4, ...other }])).toEqual([
        { id: first.id, duplicate: true },
      ]);
      tx.rollback();
    });
    await expect(undone).rejects.toThrow();
    await used.read(sql`update job_throttle set until = until - interval '61 s'`);
    const next = await queue.enqueue(used.db, 'greet', 5, options);
    expect(next).toEqual({ id: expect.any(Number), duplicate: false });
    expect(next.id).toBeGreaterThan(id);
    expect(await used.read(sql`select key, job_id::int as id from job_throttle`)).toEqual([
      { key: 'k', id: next.id },
    ]);
    await used.read(sql`update job_throttle set until = until - interval '1 hour'`);
    expect(await deleteThrottles(used.db, throttle, 600)).toBe(1);
    expect(await deleteThrottles(used.db, throttle, 600)).toBe(0);
    expect(await mayDelete(used.db, { schema: 'public', name: 'job_throttle' })).toBe(true);
    expect(await mayDelete(used.db, { schema: 'public', name: 'nothing' })).toBe(false);
  });

  it('replaces a job that waits, and none that runs', async () => {
    const replace = { dedupeKey: 'k', onDuplicate: 'replace', delayMs: 60_000 } as const;
    const debounce = { ...replace, onDuplicate: 'debounce', maxWaitMs: 1_000 } as const;
    const { id } = await queue.enqueue(used.db, 'greet', 1, replace);
    const stored = () =>
      used.read(sql`
      select payload, (run_at <= created_at + interval '1 second')::int as soon from jobs`);
    expect(await queue.enqueue(used.db, 'greet', 2, replace)).toEqual({ id, duplicate: true });
    expect(await stored()).toEqual([{ payload: 2, soon: 0 }]);
    expect(await queue.enqueueMany(used.db, [{ kind: 'greet', payload: 3, ...debounce }])).toEqual([
      { id, duplicate: true },
    ]);
    expect(await stored()).toEqual([{ payload: 3, soon: 1 }]);
    await used.read(sql`
      update jobs set state = 'running', locked_by = 'w/1', heartbeat_at = now(), started_at = now() where id = ${id}`);
    expect(await queue.enqueue(used.db, 'greet', 4, replace)).toEqual({ id, duplicate: true });
    expect(await stored()).toEqual([{ payload: 3, soon: 1 }]);
  });
}
