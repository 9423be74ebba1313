/** The `complete` move inside a handler's own transaction. */
import { beforeEach, expect, it } from 'vitest';
import { completeIn } from '../../src/sql/complete.js';
import { heartbeat } from '../../src/sql/heartbeat.js';
import { useDatabase } from '../support/database.js';
import { finish } from '../support/finish.js';
import { given, row, table, verbatim } from '../support/jobs.js';

const database = useDatabase();
const lockedBy = 'worker/1';

beforeEach(() => database.sql`truncate jobs`);
beforeEach(() => database.sql`create table if not exists receipts (job bigint)`);

it('ends the job together with what the handler writes', async () => {
  const id = await given(database.sql).running();
  await database.db.transaction(async (tx) => {
    await tx.execute(`insert into receipts values (${id})`);
    expect(await completeIn(tx, table, { id, lockedBy })).toBe(true);
    expect(await row(database.sql, id)).toMatchObject({ state: 'running' });
  });
  expect(await row(database.sql, id)).toBeUndefined();
  await expect(database.sql`select * from receipts where job = ${id}`).resolves.toHaveLength(1);
});

it('leaves the job running, and still ours, when the transaction rolls back', async () => {
  const id = await given(database.sql).running();
  const before = await verbatim(database.sql, id);
  const rolledBack = database.db.transaction(async (tx) => {
    await tx.execute(`insert into receipts values (${id})`);
    await completeIn(tx, table, { id, lockedBy });
    throw new Error('no luck');
  });
  await expect(rolledBack).rejects.toThrow('no luck');
  expect(await verbatim(database.sql, id)).toBe(before);
  expect(await heartbeat(database.db, table, [{ id, lockedBy }])).toMatchObject([{ pulse: 'ours' }]);
  await expect(database.sql`select * from receipts where job = ${id}`).resolves.toEqual([]);
});

it('completes once, however often it is called', async () => {
  const id = await given(database.sql).running();
  await database.db.transaction(async (tx) => {
    expect(await completeIn(tx, table, { id, lockedBy })).toBe(true);
    expect(await completeIn(tx, table, { id, lockedBy })).toBe(false);
  });
});

it('does not end a job that another claim has by now', async () => {
  const id = await given(database.sql).running({ lockedBy: 'worker/2' });
  const before = await verbatim(database.sql, id);
  await database.db.transaction(async (tx) => {
    expect(await completeIn(tx, table, { id, lockedBy })).toBe(false);
  });
  expect(await verbatim(database.sql, id)).toBe(before);
});

it('makes a finish that comes meanwhile busy, and gone afterwards', async () => {
  const id = await given(database.sql).running();
  const send = () =>
    finish(database.db, table, [{ id, lockedBy, outcome: { move: 'discard', error: 'too late' } }]);
  await database.db.transaction(async (tx) => {
    await completeIn(tx, table, { id, lockedBy });
    expect(await send()).toMatchObject([{ result: 'busy' }]);
  });
  expect(await send()).toMatchObject([{ result: 'gone' }]);
});
