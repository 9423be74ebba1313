/** A transaction that enqueued and fails at its COMMIT, long after every statement of it went well, leaves no job. */
import { sql } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { useDatabase } from '../support/database.js';
import { connect, networkedDrivers } from '../support/drivers.js';
import { queue } from './stage.js';

const database = useDatabase();

describe.each(networkedDrivers)('on %s', (driver) => {
  it('by a constraint that is checked at the end', async () => {
    await database.sql`drop table if exists lines, orders`;
    await database.sql`create table orders (id int primary key)`;
    await database.sql`create table lines (of int references orders deferrable initially deferred)`;
    const { db, end } = await connect(driver, database.url);
    let id = 0;
    const failure = await db
      .transaction(async (tx) => {
        ({ id } = await queue.enqueue(tx, 'ping'));
        await tx.execute(sql`insert into lines values (${7}::int)`);
      })
      .catch(sqlState);
    await end();
    expect(failure).toBe('23503');
    expect(id).toBeGreaterThan(0);
    expect(await database.sql`select id from jobs`).toEqual([]);
  });
});
