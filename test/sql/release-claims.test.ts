/** The `release` move for claims whose answer was lost. */
import { beforeEach, expect, it } from 'vitest';
import { releaseClaims } from '../../src/sql/release-claims.js';
import { useDatabase } from '../support/database.js';
import { fill, given, row, table, verbatim, whileHeld } from '../support/jobs.js';

const database = useDatabase();

beforeEach(() => database.sql`truncate jobs`);

it('gives back every job of the claims as it was before them', async () => {
  const id = await given(database.sql).running({
    lockedBy: 'worker/1',
    attempts: 10,
    lastError: 'an older one',
  });
  const other = await given(database.sql).running({ lockedBy: 'worker/3', attempts: 1 });
  const before = await row(database.sql, id);

  const released = await releaseClaims(database.db, table, ['worker/1', 'worker/2', 'worker/3']);

  expect(released.sort()).toEqual([id, other]);
  expect(await row(database.sql, id)).toEqual({
    ...before,
    state: 'available',
    attempts: 9,
    lockedBy: null,
    heartbeatAt: null,
    startedAt: null,
  });
});

it('touches no other claim, not one whose name only begins like it', async () => {
  const claims = ['worker/10', 'worker/1/1', 'Worker/1', 'worker', 'other/1'];
  const ids = await Promise.all(claims.map((lockedBy) => given(database.sql).running({ lockedBy })));
  const before = await Promise.all(ids.map((id) => verbatim(database.sql, id)));

  expect(await releaseClaims(database.db, table, ['worker/1'])).toEqual([]);
  expect(await releaseClaims(database.db, table, [])).toEqual([]);

  expect(await Promise.all(ids.map((id) => verbatim(database.sql, id)))).toEqual(before);
});

it('skips what another transaction holds, without waiting', async () => {
  const [held, free] = await fill(database.sql).running(2);
  if (!held || !free) throw new Error('Two rows are needed.');
  await whileHeld(database.sql, [held], async () => {
    expect(await releaseClaims(database.db, table, ['worker/1'])).toEqual([free]);
  });
  expect(await releaseClaims(database.db, table, ['worker/1'])).toEqual([held]);
});

it('never counts below zero', async () => {
  const id = await given(database.sql).running({ attempts: 0 });
  expect(await releaseClaims(database.db, table, ['worker/1'])).toEqual([id]);
  expect(await row(database.sql, id)).toMatchObject({ attempts: 0 });
});
