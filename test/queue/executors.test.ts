/** What is no Drizzle Postgres database or transaction is refused by name, and what is only a database where a transaction is needed. */
import { eq } from 'drizzle-orm';
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql-proxy';
import { drizzle as drizzleSqlite } from 'drizzle-orm/sqlite-proxy';
import { describe, expect, it } from 'vitest';
import { createQueue } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { callPlainly, logged, queue, registry } from './stage.js';

const database = useDatabase();

describe('the first argument', () => {
  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'got undefined'],
    ['null', null, 'got null'],
    ['an empty object', {}, 'got an object'],
    ['a kind, the executor forgotten', 'ping', 'got "ping"'],
    ['a connection string', 'postgres://localhost/app', 'got "postgres://localhost/app"'],
    ['a promise of a database', Promise.resolve({}), 'got a Promise'],
    ['something that only executes', { execute: async () => [] }, 'got an object'],
  ])('is refused when it is %s', async (_what, given, sentence) => {
    for (const refused of [
      callPlainly(queue.enqueue, given, 'ping'),
      callPlainly(queue.enqueueMany, given, [{ kind: 'ping' }]),
    ]) {
      await expect(refused).rejects.toMatchObject({
        code: 'INVALID_EXECUTOR',
        message: expect.stringContaining(
          `Expected a Drizzle database or transaction as the first argument, ${sentence}.`,
        ),
      });
    }
  });

  it('is refused when it is the client of the driver', async () => {
    await expect(callPlainly(queue.enqueue, database.db.$client, 'ping')).rejects.toMatchObject({
      code: 'INVALID_EXECUTOR',
      message: expect.stringContaining('not the driver or a query'),
    });
  });

  it('is refused when it is a query, which is then not sent', async () => {
    const { db, statements } = logged(database.db.$client);
    const { jobs } = queue.tables;
    const query = db.select().from(jobs).where(eq(jobs.kind, 'ping'));
    await expect(callPlainly(queue.enqueue, query, 'ping')).rejects.toMatchObject({
      code: 'INVALID_EXECUTOR',
    });
    expect(statements).toEqual([]);
  });

  it.each([
    ['MySQL', drizzleMysql(async () => ({ rows: [] })), 'got MySqlRemoteDatabase'],
    ['SQLite', drizzleSqlite(async () => ({ rows: [] })), 'Expected a Drizzle'],
  ])('is refused when it is a Drizzle database of %s', async (_what, foreign, sentence) => {
    await expect(callPlainly(queue.enqueue, foreign, 'ping')).rejects.toMatchObject({
      code: 'INVALID_EXECUTOR',
      message: expect.stringContaining(sentence),
    });
  });

  it('is refused before an unknown kind is', async () => {
    await expect(callPlainly(queue.enqueue, undefined, 'nope')).rejects.toMatchObject({
      code: 'INVALID_EXECUTOR',
    });
  });
});

describe('requireTransaction', () => {
  const strict = createQueue(registry, { requireTransaction: true });

  it('refuses a database, before any SQL', async () => {
    const { db, statements } = logged(database.db.$client);
    for (const refused of [
      callPlainly(strict.enqueue, db, 'ping'),
      callPlainly(strict.enqueueMany, db, [{ kind: 'ping' }]),
      callPlainly(strict.enqueueMany, db, []),
    ]) {
      await expect(refused).rejects.toMatchObject({
        code: 'TRANSACTION_REQUIRED',
        message:
          'Expected the `tx` of `db.transaction(async (tx) => …)`, got a database. ' +
          'This queue was made with `requireTransaction: true`.',
      });
    }
    expect(statements).toEqual([]);
  });

  it('takes a transaction and a savepoint', async () => {
    const id = await database.db.transaction(async (tx) => {
      await strict.enqueue(tx, 'ping');
      const [listed] = await tx.transaction((savepoint) => strict.enqueueMany(savepoint, [{ kind: 'ping' }]));
      return listed?.id ?? 0;
    });
    expect(await row(database.sql, id)).toBeDefined();
  });

  it('still says first when the argument is nothing of Drizzle', async () => {
    await expect(callPlainly(strict.enqueue, {}, 'ping')).rejects.toMatchObject({ code: 'INVALID_EXECUTOR' });
  });
});
