/** A look for dead jobs while somebody holds the table: `create index` lets it be read, and keeps heartbeats out. */
import { expect, it } from 'vitest';
import { findDead } from '../../src/sql/rescue.js';
import { useDatabase } from '../support/database.js';
import { given, table, untilServerHasRunFor } from '../support/jobs.js';
import { until } from '../support/until.js';
import { waitingForLock } from '../support/waiting.js';

const database = useDatabase();

it('waits while heartbeats have to wait, and sees what they renewed meanwhile', async () => {
  const { sql, db } = database;
  await untilServerHasRunFor(sql, 2);
  const dead = await given(sql).running({ heartbeatAgoS: 3_600, timeoutS: 1 });
  const alive = await given(sql).running({ heartbeatAgoS: 3_600, timeoutS: 1 });
  let looked: ReturnType<typeof findDead> | undefined;

  await sql.begin(async (other) => {
    await other`lock table jobs in share mode`;
    looked = findDead(db, table);
    await until(async () => (await waitingForLock(sql, '%for update skip locked')).length, {
      what: 'the look to wait',
    });
    await other`update jobs set heartbeat_at = clock_timestamp() where id = ${alive}`;
  });

  expect(await looked).toEqual([{ id: dead, lockedBy: 'worker/1' }]);
});
