/** The `complete` move inside a handler's own transaction, of a job that is kept. */
import { beforeEach, expect, it } from 'vitest';
import { heartbeat } from '../../src/sql/heartbeat.js';
import { keepIn } from '../../src/sql/keep.js';
import { useDatabase } from '../support/database.js';
import { finish } from '../support/finish.js';
import { given, row, table, verbatim } from '../support/jobs.js';

const database = useDatabase();
const lockedBy = 'worker/1';
const kept = { result: '{"n": 1}' };

beforeEach(() => database.sql`truncate jobs`);

it('completes the job and stores its result when the transaction commits', async () => {
  const id = await given(database.sql).running();
  await database.db.transaction(async (tx) => {
    expect(await keepIn(tx, table, { id, lockedBy }, kept)).toBe(true);
    expect(await row(database.sql, id)).toMatchObject({ state: 'running', result: null });
  });
  expect(await row(database.sql, id)).toMatchObject({
    state: 'completed',
    result: { n: 1 },
    lockedBy: null,
    heartbeatAt: null,
    startedAt: null,
    finishedAt: expect.any(Date),
  });
});

it.each([
  ['a result of null', 'null', 'null'],
  ['none', undefined, null],
])('tells %s apart', async (_, result, stored) => {
  const id = await given(database.sql).running();
  await database.db.transaction((tx) => keepIn(tx, table, { id, lockedBy }, { result }));
  expect(await database.sql`select result::text as result from jobs`).toEqual([{ result: stored }]);
});

it('leaves the job running, and still ours, when the transaction rolls back', async () => {
  const id = await given(database.sql).running();
  const before = await verbatim(database.sql, id);
  const rolledBack = database.db.transaction(async (tx) => {
    await keepIn(tx, table, { id, lockedBy }, kept);
    throw new Error('no luck');
  });
  await expect(rolledBack).rejects.toThrow('no luck');
  expect(await verbatim(database.sql, id)).toBe(before);
  expect(await heartbeat(database.db, table, [{ id, lockedBy }])).toMatchObject([{ pulse: 'ours' }]);
});

it('does not end a job that another claim has by now', async () => {
  const id = await given(database.sql).running({ lockedBy: 'worker/2' });
  const before = await verbatim(database.sql, id);
  await database.db.transaction(async (tx) => {
    expect(await keepIn(tx, table, { id, lockedBy }, kept)).toBe(false);
  });
  expect(await verbatim(database.sql, id)).toBe(before);
});

it('makes a heartbeat and a finish that come meanwhile busy, and gone afterwards', async () => {
  const id = await given(database.sql).running();
  const send = async () => {
    const outcome = { move: 'discard', error: 'too late' } as const;
    const [pulse] = await heartbeat(database.db, table, [{ id, lockedBy }]);
    const [end] = await finish(database.db, table, [{ id, lockedBy, outcome }]);
    return [pulse?.pulse, end?.result];
  };
  await database.db.transaction(async (tx) => {
    await keepIn(tx, table, { id, lockedBy }, kept);
    expect(await send()).toEqual(['busy', 'busy']);
  });
  expect(await send()).toEqual(['gone', 'gone']);
  expect(await row(database.sql, id)).toMatchObject({ state: 'completed', result: { n: 1 } });
});
