/** The rest of what a queue does: times, lists that are all or nothing, transactions required, and joins with the app's tables. */
import { eq, sql } from 'drizzle-orm';
import { bigint, pgTable } from 'drizzle-orm/pg-core';
import { expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { createQueue } from '../../src/index.js';
import { queue, registry } from './app.js';
import type { UsedDriver } from './stage.js';

const strict = createQueue(registry, { requireTransaction: true });
const orders = pgTable('orders', {
  id: bigint('id', { mode: 'number' }).primaryKey(),
  greeting: bigint('greeting', { mode: 'number' }),
});

export function queueTests(used: UsedDriver): void {
  it('makes jobs due when they were asked for, by both ways', async () => {
    const instant = '2999-01-01T00:00:00.123Z';
    const times = [
      {},
      { delayMs: 100_000 },
      { delayMs: 3_153_600_000_000 },
      { runAt: instant },
      { runAt: new Date(instant) },
    ];
    for (const time of times) await queue.enqueue(used.db, 'greet', null, time);
    await used.db.transaction((tx) =>
      queue.enqueueMany(
        tx,
        times.map((time) => ({ kind: 'greet', payload: null, ...time })),
      ),
    );
    const due = await used.read(sql`
      select case when run_at = ${instant}::timestamptz then 'at the instant'
                  else round(extract(epoch from run_at - clock_timestamp()) / 20)::text end as due
      from   jobs
      order  by id`);
    // In steps of 20 s from now.
    const expected = ['0', '5', '157680000', 'at the instant', 'at the instant'].map((due) => ({ due }));
    expect(due.map((row) => ({ due: String(row['due']).replace(/^-0$/, '0') }))).toEqual([
      ...expected,
      ...expected,
    ]);
  });

  it('inserts no job of a list when Postgres refuses one of its last part', async () => {
    await used.read(sql`alter table jobs add constraint no_13 check (priority <> 13)`);
    try {
      const list = Array.from({ length: 5_001 }, (_, n) => ({
        kind: 'greet' as const,
        payload: n,
        priority: n < 5_000 ? 0 : 13,
      }));
      const refused = await queue.enqueueMany(used.db, list).catch((error: unknown) => error);
      expect(sqlState(refused)).toBe('23514');
      expect(await used.read(sql`select 1 from jobs`)).toEqual([]);
    } finally {
      await used.read(sql`alter table jobs drop constraint no_13`);
    }
  });

  it('takes only transactions and savepoints when told so, and sends nothing else', async () => {
    // The compiler refuses a database here, so plain JavaScript's way is taken.
    const beside = Reflect.apply(strict.enqueue, undefined, [used.db, 'greet', 'refused']);
    await expect(beside).rejects.toMatchObject({ code: 'TRANSACTION_REQUIRED' });
    await used.db.transaction(async (tx) => {
      await strict.enqueue(tx, 'greet', 'in a transaction');
      await tx.transaction((savepoint) =>
        strict.enqueueMany(savepoint, [{ kind: 'greet', payload: 'in a savepoint' }]),
      );
    });
    expect(await used.read(sql`select payload from jobs order by id`)).toEqual([
      { payload: 'in a transaction' },
      { payload: 'in a savepoint' },
    ]);
  });

  it('refuses bad input before any statement, so that the transaction goes on', async () => {
    await used.db.transaction(async (tx) => {
      const refused = [
        queue.enqueue(tx, 'greet', 'NUL \0'),
        queue.enqueue(tx, 'greet', null, { priority: 32_768 }),
        queue.enqueueMany(tx, [
          { kind: 'greet', payload: null },
          { kind: 'greet', payload: 'half of a pair \ud83d' },
        ]),
      ];
      const codes = (await Promise.allSettled(refused)).map(
        (each) => each.status === 'rejected' && each.reason.code,
      );
      expect(codes).toEqual(['INVALID_PAYLOAD', 'INVALID_OPTION', 'INVALID_PAYLOAD']);
      expect(await queue.enqueueMany(tx, [])).toEqual([]);
      await queue.enqueue(tx, 'greet', 'the only one');
    });
    expect(await used.read(sql`select payload from jobs`)).toEqual([{ payload: 'the only one' }]);
  });

  it('has tables that join with the app’s own', async () => {
    const { jobs } = queue.tables;
    await used.read(sql`create table orders (id bigint primary key, greeting bigint)`);
    try {
      await used.db.transaction(async (tx) => {
        const { id } = await queue.enqueue(tx, 'greet', { to: 'you' });
        await tx.insert(orders).values([{ id: 1, greeting: id }, { id: 2 }]);
      });
      const joined = await used.db
        .select({ order: orders.id, kind: jobs.kind, payload: jobs.payload, runAt: jobs.runAt })
        .from(orders)
        .leftJoin(jobs, eq(jobs.id, orders.greeting))
        .orderBy(orders.id);
      expect(joined).toEqual([
        { order: 1, kind: 'greet', payload: { to: 'you' }, runAt: expect.any(Date) },
        { order: 2, kind: null, payload: null, runAt: null },
      ]);
    } finally {
      await used.read(sql`drop table orders`);
    }
  });
}
