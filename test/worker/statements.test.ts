/**
 * How a worker sends its statements: none is waited for without end, and a database's odd defaults do no harm.
 */
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Executor } from '../../src/database/executor.js';
import { numberOf, rows } from '../../src/database/rows.js';
import { createStatements } from '../../src/worker/statements.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { connectAgain } from './connect-again.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

const one = async (db: Executor) => numberOf((await rows(db, sql`select 1 as n`))[0]?.['n']);

describe.each(['postgres.js', 'node-postgres'] as const)(
  'through a network that stands still, on %s',
  (driver) => {
    let proxy: TcpProxy;
    beforeAll(async () => {
      proxy = await startTcpProxy(database.url);
    });
    afterAll(() => proxy.end());

    it('a statement is given up at its time limit, and its late answer is handed over', async () => {
      const { db, end } = connectAgain[driver](proxy.url);
      const { send, unbrokenForMs } = createStatements(db, { statementMs: 1_000, gapMs: 60_000 });
      expect(await send(one)).toBe(1);
      expect(unbrokenForMs()).toBeGreaterThanOrEqual(0);
      const late: number[] = [];

      proxy.hold();
      await expect(send(one, { late: (value) => late.push(value) })).rejects.toMatchObject({
        code: 'STATEMENT_TIMEOUT',
      });
      expect(unbrokenForMs()).toBe(0);
      expect(late).toEqual([]);
      proxy.release();

      await until(() => late.length, { what: 'the late answer' });
      expect(late).toEqual([1]);
      expect(await send(one)).toBe(1);
      await end();
    });
  },
);

it('postgres.js may be told to fetch no types', async () => {
  const client = postgres(database.url, { fetch_types: false });
  const { add, seen, worker } = await startTask(() => undefined, { db: drizzle({ client }) });
  await add(1);
  await until(() => seen.completed.length, { what: 'the job' });
  await worker.stop();
  expect(seen.error).toEqual([]);
  await client.end();
});

describe('how long all has gone well', () => {
  it('begins anew after a failure, but not after a fault of a row', async () => {
    const { send, unbrokenForMs } = createStatements(database.db, { statementMs: 5_000, gapMs: 60_000 });
    const failWith = (statement: string) => send((db) => rows(db, sql.raw(statement))).catch(() => {});
    await send(one);
    await until(() => unbrokenForMs() > 0, { what: 'the first ms' });
    await failWith(`select 1 / 0`);
    expect(unbrokenForMs()).toBeGreaterThan(0);
    await failWith('select from no_such_table');
    expect(unbrokenForMs()).toBe(0);
    await send(one);
    await until(() => unbrokenForMs() > 0, { what: 'the first ms after it' });
  });

  it('is nothing after a gap in which the process may have stood still', async () => {
    const { send, unbrokenForMs } = createStatements(database.db, { statementMs: 5_000, gapMs: 1 });
    await send(one);
    await send((db) => rows(db, sql`select pg_sleep(0.01)`));
    await until(() => unbrokenForMs() === 0, { what: 'the gap to be noticed' });
  });
});

describe.each([
  ['default_transaction_isolation', 'serializable'],
  ['default_transaction_isolation', 'repeatable read'],
  ['default_transaction_read_only', 'on'],
])('in a database with %s = %s', (setting, value) => {
  const name = () => database.sql(new URL(database.url).pathname.slice(1));
  beforeAll(
    () =>
      database.sql`alter database ${name()} set ${database.sql(setting)} = ${database.sql.unsafe(`'${value}'`)}`,
  );
  afterAll(() => database.sql`alter database ${name()} reset ${database.sql(setting)}`);

  it.each(['postgres.js', 'node-postgres'] as const)(
    'two workers share jobs without an error, on %s',
    async (driver) => {
      const connections = [connectAgain[driver](database.url), connectAgain[driver](database.url)];
      const workers = await Promise.all(
        connections.map(({ db }) =>
          startTask(
            ({ n }) => {
              if (n === 1) throw new Error('no luck');
            },
            { db, slots: 5 },
          ),
        ),
      );
      const [first, second] = workers;
      if (!first || !second) throw new Error('two were started');
      const failing = await first.add(1, { maxAttempts: 1 });
      for (let n = 2; n <= 100; n++) await first.add(n);

      const both = (name: 'completed' | 'discarded' | 'error') => [...first.seen[name], ...second.seen[name]];
      await until(() => both('completed').length === 99 && both('discarded').length, { what: 'all ends' });

      expect(both('error')).toEqual([]);
      expect(await row(database.sql, failing)).toMatchObject({ state: 'discarded' });
      await Promise.all(workers.map(({ worker }) => worker.stop()));
      await Promise.all(connections.map(({ end }) => end()));
    },
  );
});
