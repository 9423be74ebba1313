/** A killed backend must not end the process of an app that uses node-postgres and listens to nothing. */
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { watchPool } from '../../src/database/pool-errors.js';
import { useDatabase } from '../support/database.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

const database = useDatabase();
const ends: (() => Promise<unknown>)[] = [];

/** A pool without any listener of ours: an error that nobody takes would fail the test file. */
function watched(config: pg.PoolConfig = {}) {
  const pool = new pg.Pool({ connectionString: database.url, application_name: 'watched', ...config });
  const errors: unknown[] = [];
  const unwatch = watchPool(drizzle({ client: pool }), (error) => errors.push(error));
  ends.push(async () => {
    unwatch();
    await pool.end();
  });
  return { pool, errors, unwatch };
}

const kill = () =>
  database.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'watched'`;

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

describe('a watched pool', () => {
  it('reports the loss of an idle client, and goes on with a new one', async () => {
    const { pool, errors } = watched();
    await pool.query('select 1');
    await kill();
    await until(() => errors.length > 0, { what: 'the error' });
    expect(errors[0]).toMatchObject({ code: '57P01' });
    await expect(pool.query('select 1 as one')).resolves.toMatchObject({ rows: [{ one: 1 }] });
  });

  it('reports the loss of a client that is checked out between two statements', async () => {
    const { pool, errors } = watched();
    const db = drizzle({ client: pool });
    const broken = db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      await kill();
      await until(() => errors.length > 0, { what: 'the error' });
      await tx.execute(sql`select 1`);
    });
    await expect(broken).rejects.toThrow();
    await expect(pool.query('select 1 as one')).resolves.toMatchObject({ rows: [{ one: 1 }] });
  });

  it('gets back the client of a transaction whose begin was lost', async () => {
    const proxy = await startTcpProxy(database.url);
    const { pool } = watched({ connectionString: proxy.url, max: 1 });
    await pool.query('select 1');
    proxy.loseAnswers();
    const transaction = drizzle({ client: pool }).transaction(async () => {});
    const end = expect(transaction).rejects.toThrow();
    const begun = () =>
      database.sql`select from pg_stat_activity where application_name = 'watched' and query = 'begin'`;
    await until(async () => (await begun()).length, { what: 'the begin' });
    proxy.mend();
    await end;

    await expect(pool.query('select 1 as one')).resolves.toMatchObject({ rows: [{ one: 1 }] });
    await proxy.end();
  });

  it('gets back the client that is lost during a long transaction, which may give it back as well', async () => {
    const { pool } = watched({ max: 1 });
    const db = drizzle({ client: pool });
    const transaction = db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      await kill();
      // Only when the place of the lost client is free.
      await pool.query('select 1');
      await tx.execute(sql`select 'after the loss'`);
    });

    await expect(transaction).rejects.toThrow(/^Failed query/);
  });

  it('gives each client one listener, however often it is used', async () => {
    const { pool } = watched();
    const counts = new Set<number>();
    for (let i = 0; i < 50; i++) {
      const client = await pool.connect();
      counts.add(client.listenerCount('error'));
      client.release();
    }
    expect([...counts]).toEqual([Math.max(...counts)]);
    expect(Math.max(...counts)).toBeLessThanOrEqual(2);
  });

  it('is left as it was found', async () => {
    const { pool, unwatch } = watched();
    const client = await pool.connect();
    const during = [pool.listenerCount('error'), client.listenerCount('error')];
    unwatch();
    const after = ['error', 'acquire', 'remove'].map((name) => pool.listenerCount(name));
    const onClient = client.listenerCount('error');
    client.release();
    expect({ during, after }).toEqual({ during: [1, onClient + 1], after: [0, 0, 0] });
  });
});

describe('what is no node-postgres pool', () => {
  it('is left alone', async () => {
    for (const db of [database.db, { execute: async () => [], transaction: async () => {}, $client: null }]) {
      expect(() => watchPool(db, () => {})()).not.toThrow();
    }
    await database.db.transaction(async (tx) => watchPool(tx, () => {})());
  });
});
