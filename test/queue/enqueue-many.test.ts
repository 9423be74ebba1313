/** `enqueueMany`: a list is all or nothing, in few statements, and answered in its own order. */
import { afterEach, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { logged, queue } from './stage.js';

const database = useDatabase();

const numbered = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ kind: 'keep', payload: { n } }) as const);

afterEach(async () => {
  await database.sql`truncate jobs`;
});

describe('enqueueMany', () => {
  it('makes each job as enqueue would', async () => {
    const list = await queue.enqueueMany(database.db, [
      { kind: 'sendReceipt', payload: { orderId: 1 } },
      { kind: 'ping', priority: 9, maxAttempts: 2 },
      { kind: 'ping', payload: undefined, delayMs: undefined },
    ]);
    const single = [
      await queue.enqueue(database.db, 'sendReceipt', { orderId: 1 }),
      await queue.enqueue(database.db, 'ping', undefined, { priority: 9, maxAttempts: 2 }),
      await queue.enqueue(database.db, 'ping'),
    ];
    const unlike = { id: expect.any(Number), runAt: expect.any(Date), createdAt: expect.any(Date) };
    const rows = await Promise.all(single.map(({ id }) => row(database.sql, id)));
    expect(await Promise.all(list.map(({ id }) => row(database.sql, id)))).toEqual(
      rows.map((one) => ({ ...one, ...unlike })),
    );
  });

  it('sends no SQL for an empty list', async () => {
    const { db, statements } = logged(database.db.$client);
    expect(await queue.enqueueMany(db, [])).toEqual([]);
    expect(statements).toEqual([]);
  });

  it('sends one statement for 5,000 jobs', async () => {
    const { db, statements } = logged(database.db.$client);
    await queue.enqueueMany(db, numbered(5_000));
    expect(statements).toHaveLength(1);
  });

  it('sends three statements in one transaction for 12,001 jobs, and answers in the order of the list', async () => {
    const { db, statements } = logged(database.db.$client);
    const enqueued = await queue.enqueueMany(db, numbered(12_001));
    expect(statements).toHaveLength(3);
    const rows = await database.sql<{ id: number; n: number; transaction: string }[]>`
      select id::float8 as id, (payload->>'n')::int as n, xmin::text as transaction from jobs order by n`;
    expect(rows.map(({ id }) => ({ id, duplicate: false }))).toEqual(enqueued);
    expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 12_001 }, (_, n) => n));
    expect(new Set(rows.map(({ transaction }) => transaction)).size).toBe(1);
  });

  it('answers in the order of the list whatever the jobs’ priorities and times are', async () => {
    const list = Array.from({ length: 500 }, (_, n) => ({
      kind: 'keep' as const,
      payload: { n },
      priority: (n * 37) % 100,
      delayMs: (n * 61) % 997,
    }));
    const enqueued = await queue.enqueueMany(database.db, list);
    const rows = await database.sql<{ id: number }[]>`
      select id::float8 as id from jobs order by (payload->>'n')::int`;
    expect(enqueued).toEqual(rows.map(({ id }) => ({ id, duplicate: false })));
  });

  it('leaves nothing of 12,001 jobs when Postgres refuses one of the last', async () => {
    await refuse(11_500);
    await expect(queue.enqueueMany(database.db, numbered(12_001))).rejects.toThrow();
    expect(await database.sql`select 1 from jobs limit 1`).toEqual([]);
    await refuse(undefined);
    expect(await queue.enqueueMany(database.db, numbered(12_001))).toHaveLength(12_001);
  });

  it('leaves it to the caller’s savepoint when Postgres refuses a job in a transaction', async () => {
    await refuse(5_500);
    await database.db.transaction(async (tx) => {
      const before = await queue.enqueue(tx, 'ping');
      const refused = tx.transaction((savepoint) => queue.enqueueMany(savepoint, numbered(6_000)));
      await expect(refused).rejects.toThrow();
      expect(before.id).toBeGreaterThan(0);
    });
    await refuse(undefined);
    expect(await database.sql`select kind from jobs`).toEqual([{ kind: 'ping' }]);
  });
});

/** A trigger of the app that refuses the job with this number, or none. */
async function refuse(n: number | undefined): Promise<void> {
  await database.sql`drop trigger if exists refuse on jobs`;
  if (n === undefined) return;
  await database.sql.unsafe(`
    create or replace function refuse() returns trigger language plpgsql as $$
    begin
      if new.payload->>'n' = '${n}' then raise exception 'refused by the app'; end if;
      return new;
    end $$;
    create trigger refuse before insert on jobs for each row execute function refuse()`);
}
