/** The SQLSTATE is found wherever Drizzle and the drivers put it, and says whether one row is to blame. */
import { sql } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import { isRowFault, sqlState } from '../../src/database/sqlstate.js';
import { useDatabase } from '../support/database.js';

const database = useDatabase();

const wrapped = (error: unknown, times: number): unknown =>
  times === 0 ? error : wrapped(new Error('wrapped', { cause: error }), times - 1);

describe('the SQLSTATE', () => {
  it.each([0, 1, 4])('is found below %s wrappers', (times) => {
    expect(sqlState(wrapped({ code: '23505' }, times))).toBe('23505');
  });

  it('is that of Postgres, not the code of the network or of a wrapper', () => {
    expect(sqlState({ code: 'ECONNREFUSED' })).toBeUndefined();
    expect(sqlState({ code: 23505 })).toBeUndefined();
    expect(sqlState({ code: 'JOB_LOST', cause: { code: '40001' } })).toBe('40001');
  });

  it('is not looked for without end, nor in what has none', () => {
    const circle: { cause?: unknown } = {};
    circle.cause = circle;
    for (const value of [circle, undefined, null, '23505', 5, Symbol('23505'), {}, new Error('x')]) {
      expect(sqlState(value)).toBeUndefined();
      expect(isRowFault(value)).toBe(false);
    }
  });

  it('of a statement, of a commit and of an app’s trigger comes from the database as it is', async () => {
    await database.sql`create table parents (id int primary key)`;
    await database.sql`create table children (parent int references parents deferrable initially deferred)`;
    const statement = await database.db.execute(sql`select 'x'::int`).catch((error: unknown) => error);
    const commit = await database.db
      .transaction((tx) => tx.execute(sql`insert into children values (1)`))
      .catch((error: unknown) => error);
    const trigger = await database.db
      .execute(sql`do $$ begin raise exception 'no'; end $$`)
      .catch((error: unknown) => error);
    expect([statement, commit, trigger].map(sqlState)).toEqual(['22P02', '23503', 'P0001']);
  });
});

describe('a row', () => {
  it.each(['22P02', '22021', '22003', '23505', '23514', '21000', '54000', 'P0001'])(
    'is to blame for %s',
    (code) => {
      expect(isRowFault(wrapped({ code }, 1))).toBe(true);
    },
  );

  it.each([
    '08006',
    '25006',
    '25P02',
    '40001',
    '40P01',
    '42501',
    '42P01',
    '53300',
    '57014',
    '57P01',
    'XX000',
    '55P03',
  ])('is not to blame for %s', (code) => {
    expect(isRowFault(wrapped({ code }, 1))).toBe(false);
  });
});
