/** A claim that comes back short says when the next job of each queue falls due. */
import { sql } from 'drizzle-orm';
import { beforeEach, expect, it } from 'vitest';
import { claim } from '../../src/sql/claim.js';
import { useDatabase } from '../support/database.js';
import { fill, given, table } from '../support/jobs.js';

const database = useDatabase();
let claims = 0;

beforeEach(() => database.sql`truncate jobs`);

/** Of each queue, in how many ms after the claim its next job falls due. */
async function dueInMs(want: Record<string, number>): Promise<Record<string, number>> {
  const { dueUs, nowUs } = await claim(database.db, table, {
    want: new Map(Object.entries(want)),
    kinds: ['greet'],
    lockedBy: `worker/${++claims}`,
    due: true,
  });
  return Object.fromEntries([...dueUs].map(([queue, us]) => [queue, (us - nowUs) / 1_000]));
}

it('the nearest of all priorities, to the microsecond', async () => {
  await given(database.sql).available({ dueInS: 3_000, priority: 5 });
  await given(database.sql).available({ dueInS: 2_000, priority: -5 });
  await given(database.sql).available({ dueInS: 4_000 });
  const [row] = await database.sql<[{ us: string }]>`
    select (extract(epoch from min(run_at)) * 1000000)::bigint::text as us from jobs`;
  const { dueUs } = await claim(database.db, table, {
    want: new Map([['default', 1]]),
    kinds: ['greet'],
    lockedBy: 'worker/0',
    due: true,
  });
  expect([...dueUs]).toEqual([['default', Number(row.us)]]);
});

it('of each queue its own; a queue without a job that waits has none', async () => {
  await given(database.sql).available({ queue: 'one', dueInS: 100 });
  await given(database.sql).available({ queue: 'two', dueInS: 200 });
  await given(database.sql).running({ queue: 'three' });
  const due = await dueInMs({ one: 1, two: 1, three: 1 });
  expect(Object.keys(due).toSorted()).toEqual(['one', 'two']);
  expect(due['one']).toBeGreaterThan(95_000);
  expect(due['one']).toBeLessThanOrEqual(100_000);
  expect(due['two']).toBeGreaterThan(195_000);
});

it('also beside jobs that were taken, unless these are as many as were wanted', async () => {
  await fill(database.sql).available(4, { queue: 'one' });
  await given(database.sql).available({ queue: 'one', dueInS: 100 });
  expect(await dueInMs({ one: 2 })).toEqual({});
  expect(Object.keys(await dueInMs({ one: 3 }))).toEqual(['one']);
});

it('of any kind, since a job of a kind nobody serves costs a look and no more; one that is due is no next one', async () => {
  await given(database.sql).available({ kind: 'unknown', dueInS: -10 });
  expect(await dueInMs({ default: 1 })).toEqual({});
  await given(database.sql).available({ kind: 'unknown', dueInS: 50 });
  expect(Object.keys(await dueInMs({ default: 1 }))).toEqual(['default']);
});

it('only where that was asked', async () => {
  await given(database.sql).available({ dueInS: 100 });
  const request = { want: new Map([['default', 1]]), kinds: ['greet'], lockedBy: 'worker/0' };
  expect((await claim(database.db, table, request)).dueUs.size).toBe(0);
});

it('that never falls due, or later than a microsecond count can say, fails nothing', async () => {
  await database.db.execute(sql`
    insert into jobs (queue, kind, run_at) values ('one', 'greet', 'infinity'), ('two', 'greet', '294276-12-31 23:59')`);
  const due = await dueInMs({ one: 1, two: 1 });
  expect(due['one']).toBe(due['two']);
  expect(due['one']).toBeGreaterThan(365 * 86_400_000);
});
