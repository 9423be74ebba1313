/** The `enqueue` move: one job, in the caller's transaction. */
import { describe, expect, it } from 'vitest';
import { enqueue, type NewJob } from '../../src/sql/enqueue.js';
import { useDatabase } from '../support/database.js';
import { row, table } from '../support/jobs.js';

const database = useDatabase();

const job: NewJob = {
  queue: 'mail',
  kind: 'greet',
  payload: '{"to":"you"}',
  priority: -5,
  when: { delayMs: 0 },
  maxAttempts: 7,
  timeoutS: 90,
};

it('makes a row of what it is given, and gives its id', async () => {
  const id = await enqueue(database.db, table, job);
  expect(await row(database.sql, id)).toMatchObject({
    id,
    queue: 'mail',
    kind: 'greet',
    payload: { to: 'you' },
    payloadVersion: 1,
    priority: -5,
    state: 'available',
    attempts: 0,
    maxAttempts: 7,
    timeoutS: 90,
    errors: [],
  });
});

it.each([
  ['null', null],
  ['[]', []],
  ['"text"', 'text'],
  ['0', 0],
  ['false', false],
  ['{"a":{"b":["\\u0001\\"😀\\\\"]}}', { a: { b: ['\u0001"😀\\'] } }],
])('keeps the payload %s', async (payload, read) => {
  const id = await enqueue(database.db, table, { ...job, payload });
  expect((await row(database.sql, id))?.payload).toEqual(read);
});

it('keeps names that need quoting', async () => {
  const names = { queue: `it's "NULL", {\\}`, kind: '😀'.repeat(128) };
  const id = await enqueue(database.db, table, { ...job, ...names });
  expect(await row(database.sql, id)).toMatchObject(names);
});

describe('its time', () => {
  it('is an instant, as given', async () => {
    const id = await enqueue(database.db, table, { ...job, when: { runAt: '2099-01-02T03:04:05.678Z' } });
    expect((await row(database.sql, id))?.runAt.toISOString()).toBe('2099-01-02T03:04:05.678Z');
  });

  it.each([0, 60_000, 100 * 365 * 24 * 3600 * 1000])('is %i ms after the call', async (delayMs) => {
    const id = await enqueue(database.db, table, { ...job, when: { delayMs } });
    const [due] = await database.sql<[{ ms: number }]>`
      select extract(epoch from run_at - clock_timestamp())::float8 * 1000 as ms from jobs where id = ${id}`;
    expect(due.ms).toBeLessThanOrEqual(delayMs);
    expect(due.ms).toBeGreaterThan(delayMs - 5_000);
  });

  it.each([0, 1_000])(
    'counts %i ms from the call, not from the start of the transaction',
    async (delayMs) => {
      const id = await database.db.transaction(async (tx) => {
        await tx.execute('select 1');
        return enqueue(tx, table, { ...job, when: { delayMs } });
      });
      // created_at is now(): the start of the transaction.
      const [time] = await database.sql`
      select run_at > created_at + ${delayMs}::int * interval '1 ms' as later from jobs where id = ${id}`;
      expect(time).toEqual({ later: true });
    },
  );
});

describe('in a transaction', () => {
  it('exists for nobody else until the commit', async () => {
    const id = await database.db.transaction(async (tx) => {
      const id = await enqueue(tx, table, job);
      expect(await row(database.sql, id)).toBeUndefined();
      return id;
    });
    expect(await row(database.sql, id)).toMatchObject({ state: 'available' });
  });

  it('never existed after a rollback, also to a savepoint', async () => {
    const ids: number[] = [];
    await database.db.transaction(async (tx) => {
      ids.push(await enqueue(tx, table, job));
      await tx
        .transaction(async (inner) => {
          ids.push(await enqueue(inner, table, job));
          inner.rollback();
        })
        .catch(() => {});
    });
    const [kept, dropped] = await Promise.all(ids.map((id) => row(database.sql, id)));
    expect(kept).toMatchObject({ state: 'available' });
    expect(dropped).toBeUndefined();
  });
});
