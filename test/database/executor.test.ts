/** What counts as a database and as a transaction, by its shape, for Drizzle's own objects and for an app's wrapper. */
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql-proxy';
import { drizzle as drizzlePg } from 'drizzle-orm/pg-proxy';
import { describe, expect, it } from 'vitest';
import { assertExecutor, assertTransaction, isTransaction } from '../../src/database/executor.js';
import { useDatabase } from '../support/database.js';

const database = useDatabase();
const refusedAs = (code: string) => expect.objectContaining({ code });

describe('an executor', () => {
  it('is a database, a transaction and a savepoint', async () => {
    expect(() => assertExecutor(database.db)).not.toThrow();
    expect(isTransaction(database.db)).toBe(false);
    await database.db.transaction(async (tx) => {
      expect(() => assertExecutor(tx)).not.toThrow();
      expect(isTransaction(tx)).toBe(true);
      await tx.transaction(async (savepoint) => {
        expect(() => assertTransaction(savepoint, '')).not.toThrow();
      });
    });
  });

  it('is a database of a driver that cannot do transactions', () => {
    expect(() => assertExecutor(drizzlePg(async () => ({ rows: [] })))).not.toThrow();
  });

  it('is what an app wraps around one', () => {
    const wrapped = { execute: async () => [], transaction: async () => {} };
    expect(() => assertExecutor(wrapped)).not.toThrow();
    expect(() => assertExecutor(Object.assign(Object.create(null), wrapped))).not.toThrow();
    expect(() => assertExecutor(Object.create(database.db))).not.toThrow();
  });

  it('is no database of another dialect, wrapped or not', () => {
    const mysql = drizzleMysql(async () => ({ rows: [] }));
    for (const foreign of [mysql, Object.create(mysql)]) {
      expect(() => assertExecutor(foreign)).toThrow(
        'Expected a Drizzle Postgres database or transaction, got MySqlRemoteDatabase.',
      );
    }
  });

  it.each([
    undefined,
    null,
    5,
    'db',
    () => {},
    {},
    { execute: 5, transaction: 5 },
    { transaction: () => {} },
  ])('is not %s', (value) => {
    expect(() => assertExecutor(value)).toThrow(refusedAs('INVALID_EXECUTOR'));
    expect(() => assertTransaction(value, '')).toThrow(refusedAs('INVALID_EXECUTOR'));
  });
});

describe('a transaction', () => {
  it('is not a database, and the message ends with the reason', () => {
    expect(() => assertTransaction(database.db, 'It ends the job with your writes.')).toThrow(
      'Expected the `tx` of `db.transaction(async (tx) => …)`, got a database. It ends the job with your writes.',
    );
    expect(() => assertTransaction(database.db, '')).toThrow(refusedAs('TRANSACTION_REQUIRED'));
  });
});
