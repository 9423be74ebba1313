/** The `rescue` move: whom it takes for dead, and what becomes of them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { largestRescue, rescue } from '../../src/sql/rescue.js';
import { useDatabase } from '../support/database.js';
import { connect } from '../support/drivers.js';
import { fill, given, row, table, untilServerHasRunFor, verbatim, whileHeld } from '../support/jobs.js';

const database = useDatabase();
const dead = { timeoutS: 1, heartbeatAgoS: 3_600 };

beforeAll(() => untilServerHasRunFor(database.sql, 2));
beforeEach(() => database.sql`truncate jobs`);

describe('a dead job', () => {
  it('is available again after the usual backoff, with the reason and the claim that was dead', async () => {
    const id = await given(database.sql).running({
      ...dead,
      queue: 'mail',
      attempts: 3,
      lockedBy: 'worker/9',
    });

    expect(await rescue(database.db, table)).toEqual([
      { id, queue: 'mail', kind: 'greet', state: 'available', lockedBy: 'worker/9' },
    ]);

    const why = 'rescued: no heartbeat for more than 1 s from worker/9';
    expect(await row(database.sql, id)).toMatchObject({
      state: 'available',
      attempts: 3,
      lockedBy: null,
      heartbeatAt: null,
      startedAt: null,
      finishedAt: null,
      lastError: why,
      errors: [{ attempt: 3, error: why }],
    });
    const [due] = await database.sql<[{ s: number }]>`
      select extract(epoch from run_at - clock_timestamp())::float8 as s from jobs where id = ${id}`;
    expect(due.s).toBeGreaterThan(4 - 0.5);
    expect(due.s).toBeLessThanOrEqual(8);
  });

  it.each([
    [10, 10],
    [11, 10],
    [2 ** 31 - 1, 1],
  ])('in attempt %i of %i is discarded, and its last error says why', async (attempts, maxAttempts) => {
    const id = await given(database.sql).running({ ...dead, attempts, maxAttempts });

    expect(await rescue(database.db, table)).toMatchObject([{ id, state: 'discarded' }]);

    expect(await row(database.sql, id)).toMatchObject({
      state: 'discarded',
      attempts,
      lockedBy: null,
      finishedAt: expect.any(Date),
      lastError: expect.stringContaining('rescued: no heartbeat'),
    });
  });

  it('is rescued whatever its queue and kind are', async () => {
    const id = await given(database.sql).running({ ...dead, queue: 'nobody serves it', kind: 'unknown' });
    expect(await rescue(database.db, table)).toMatchObject([{ id }]);
  });

  it('does not wait for another that somebody holds', async () => {
    const [held, free] = await fill(database.sql).running(2, dead);
    if (!held || !free) throw new Error('Two rows are needed.');
    await whileHeld(database.sql, [held], async () => {
      expect(await rescue(database.db, table)).toMatchObject([{ id: free }]);
    });
    expect(await rescue(database.db, table)).toMatchObject([{ id: held }]);
  });

  it('is found behind any number of live ones', async () => {
    await fill(database.sql).running(2_000, { timeoutS: 3_600, heartbeatAgoS: 100 });
    const id = await given(database.sql).running(dead);
    expect(await rescue(database.db, table)).toMatchObject([{ id }]);
  });
});

describe('a live job', () => {
  it('is left alone: its own limit decides', async () => {
    const limits = [
      { timeoutS: 60, heartbeatAgoS: 55 },
      { timeoutS: 2 ** 31 - 1, heartbeatAgoS: 86_400 },
      { timeoutS: 1, heartbeatAgoS: 0 },
      { timeoutS: 1, heartbeatAgoS: -3_600 },
    ];
    const ids = await Promise.all(limits.map((limit) => given(database.sql).running(limit)));
    const before = await Promise.all(ids.map((id) => verbatim(database.sql, id)));

    expect(await rescue(database.db, table)).toEqual([]);

    expect(await Promise.all(ids.map((id) => verbatim(database.sql, id)))).toEqual(before);
  });

  it('is one that the server has not been up for long enough to hear from', async () => {
    const [server] = await database.sql<[{ age: number }]>`
      select extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float8 as age`;
    const young = await given(database.sql).running({
      timeoutS: Math.ceil(server.age) + 600,
      heartbeatAgoS: 10_000_000,
    });
    expect(await rescue(database.db, table)).toEqual([]);
    expect(await row(database.sql, young)).toMatchObject({ state: 'running' });
  });
});

describe('many dead jobs', () => {
  let second: Awaited<ReturnType<typeof connect<'postgres.js'>>>;
  beforeAll(async () => {
    second = await connect('postgres.js', database.url);
  });
  afterAll(() => second.end());

  it('are rescued in parts, the oldest first', async () => {
    const ids = await fill(database.sql).running(largestRescue * 2 + 5, dead);
    const parts = [];
    for (let part = 0; part < 4; part++) parts.push(await rescue(database.db, table));

    expect(parts.map((part) => part.length)).toEqual([largestRescue, largestRescue, 5, 0]);
    expect(parts.map((part) => part.map(({ id }) => id).sort((a, b) => a - b))).toEqual([
      ids.slice(0, largestRescue),
      ids.slice(largestRescue, 2 * largestRescue),
      ids.slice(2 * largestRescue),
      [],
    ]);
  });

  it('are shared by rescuers that come at once, each to one of them', async () => {
    for (let round = 0; round < 20; round++) {
      const ids = await fill(database.sql).running(100, dead);
      const found = await Promise.all([rescue(database.db, table), rescue(second.db, table)]);
      expect(
        found
          .flat()
          .map(({ id }) => id)
          .sort((a, b) => a - b),
      ).toEqual(ids);
    }
  });
});
