/** When a job is due: an instant is stored as given, a delay counts from the call by the database's clock. */
import { sql } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import type { EnqueueOptions, Executor } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { queue } from './stage.js';

const database = useDatabase();

/** The two ways in, which must agree. */
const ways: readonly [string, (tx: Executor, options: EnqueueOptions) => Promise<number>][] = [
  ['enqueue', async (tx, options) => (await queue.enqueue(tx, 'ping', undefined, options)).id],
  [
    'enqueueMany',
    async (tx, options) => (await queue.enqueueMany(tx, [{ kind: 'ping', ...options }]))[0]?.id ?? 0,
  ],
];

describe.each(ways)('%s', (_way, enqueue) => {
  it.each<[Date | string, string]>([
    [new Date('2027-01-01T08:00:00.123Z'), '2027-01-01 08:00:00.123'],
    ['2027-01-01T08:00:00.123Z', '2027-01-01 08:00:00.123'],
    ['2027-01-01T08:00:00+05:30', '2027-01-01 02:30:00'],
    ['2026-12-31T23:00:00-09:00', '2027-01-01 08:00:00'],
    ['2027-01-01T08:00Z', '2027-01-01 08:00:00'],
    [new Date(0), '1970-01-01 00:00:00'],
    ['0001-01-01T00:00:00Z', '0001-01-01 00:00:00'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31 23:59:59.999'],
  ])('stores runAt %s as it is', async (runAt, utc) => {
    const id = await enqueue(database.db, { runAt });
    expect(
      await database.sql`select (run_at at time zone 'utc')::text as utc from jobs where id = ${id}`,
    ).toEqual([{ utc }]);
  });

  it('stores the same instant whatever zone and date style the session has', async () => {
    const id = await database.db.transaction(async (tx) => {
      await tx.execute(sql`set local timezone = 'Asia/Kathmandu'`);
      await tx.execute(sql`set local datestyle = 'SQL, DMY'`);
      await tx.execute(sql`set local intervalstyle = 'sql_standard'`);
      return enqueue(tx, { runAt: '2027-02-03T08:00:00Z' });
    });
    expect(
      await database.sql`select run_at = '2027-02-03T08:00:00Z'::timestamptz as same from jobs where id = ${id}`,
    ).toEqual([{ same: true }]);
  });

  it.each([
    [undefined, 0],
    [0, 0],
    [0.4, 0],
    [1_500, 1_500],
    [100 * 365 * 24 * 3600 * 1000, 100 * 365 * 24 * 3600 * 1000],
  ])('counts a delay of %s ms from the call, not from the start of the transaction', async (delayMs, ms) => {
    const counted = await database.db.transaction(async (tx) => {
      await tx.execute(sql`create temporary table if not exists looks (before timestamptz)`);
      await tx.execute(sql`insert into looks select clock_timestamp()`);
      const id = await enqueue(tx, { delayMs });
      return tx.execute(sql`
        select run_at - ${ms}::bigint * interval '1 millisecond' between before and clock_timestamp() as "fromTheCall",
               before > now() as "laterThanTheStart"
        from   jobs, looks
        where  id = ${id}
        order  by before desc
        limit  1`);
    });
    expect([...counted]).toEqual([{ fromTheCall: true, laterThanTheStart: true }]);
  });
});
