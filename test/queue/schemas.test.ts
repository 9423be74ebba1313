/** Tables in a Postgres schema of their own: every name is quoted and qualified, and search_path does not matter. */
import { pgSchema } from 'drizzle-orm/pg-core';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createQueue } from '../../src/index.js';
import { queueTables } from '../../src/schema.js';
import { useDatabase } from '../support/database.js';
import { queue, registry } from './stage.js';

const database = useDatabase();
const name = 'Jobs-X"y';
const work = queueTables<typeof registry>({ schema: pgSchema(name) });
const elsewhere = createQueue(registry, { tables: work });

const count = async () => {
  const [counted] = await database.sql`
    select (select count(*)::int from public.jobs) as here, (select count(*)::int from ${database.sql(name)}.jobs) as there`;
  return counted;
};

beforeAll(async () => {
  await database.sql`create schema ${database.sql(name)}`;
  await database.sql`create table ${database.sql(name)}.jobs (like public.jobs including all)`;
});
afterEach(async () => {
  await database.sql`truncate public.jobs, ${database.sql(name)}.jobs`;
});

describe('a queue with tables in a schema of an awkward name', () => {
  it('puts its jobs there and nowhere else', async () => {
    await elsewhere.enqueue(database.db, 'ping');
    await elsewhere.enqueueMany(database.db, [
      { kind: 'ping' },
      { kind: 'sendReceipt', payload: { orderId: 1 } },
    ]);
    expect(await count()).toEqual({ here: 0, there: 3 });
    await queue.enqueue(database.db, 'ping');
    expect(await count()).toEqual({ here: 1, there: 3 });
  });

  it('gives the tables it was made with, which Drizzle can query', async () => {
    expect(elsewhere.tables).toBe(work);
    const { id } = await elsewhere.enqueue(database.db, 'sendReceipt', { orderId: 9 });
    expect(
      await database.db.select({ id: work.jobs.id, payload: work.jobs.payload }).from(work.jobs),
    ).toEqual([{ id, payload: { orderId: 9 } }]);
  });
});

describe('a session with an empty search_path', () => {
  it('enqueues into either schema', async () => {
    const client = postgres(database.url, { max: 1, connection: { search_path: '""' } });
    try {
      const db = drizzle({ client });
      for (const each of [queue, elsewhere]) {
        await each.enqueue(db, 'ping');
        await each.enqueueMany(db, [{ kind: 'ping' }, { kind: 'ping' }]);
      }
      const [{ search_path } = {}] = await client`show search_path`;
      expect(search_path).toBe('""');
    } finally {
      await client.end();
    }
    expect(await count()).toEqual({ here: 3, there: 3 });
  });
});
