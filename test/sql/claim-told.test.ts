/** The `claim` move of one job by its id: the same job as a look would take, and no other. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type ClaimedJob, claim } from '../../src/sql/claim.js';
import { claimTold } from '../../src/sql/claim-told.js';
import { useDatabase } from '../support/database.js';
import { given, row, table, verbatim, whileHeld } from '../support/jobs.js';

const database = useDatabase();
const lockedBy = 'worker/7';

beforeEach(() => database.sql`truncate jobs`);

function take(id: number, { queue = 'default', kinds = ['greet'] } = {}): Promise<ClaimedJob | undefined> {
  return claimTold(database.db, table, { id, queue, kinds, lockedBy });
}

it('claims it as a look does', async () => {
  const { available } = given(database.sql);
  const columns = { queue: 'mail', payload: { 'a"b': [1, null] }, attempts: 2, maxAttempts: 5 };
  const [told, found] = [await available(columns), await available(columns)];
  await database.sql`update jobs set timeout_ms = 70, meta = '{"trace":"t"}', payload_version = 3`;

  const job = await take(told, { queue: 'mail' });
  const want = new Map([['mail', 1]]);
  const { jobs } = await claim(database.db, table, { want, kinds: ['greet'], lockedBy });

  expect(jobs).toEqual([
    {
      id: found,
      lockedBy,
      queue: 'mail',
      kind: 'greet',
      payload: columns.payload,
      attempt: 3,
      maxAttempts: 5,
      payloadVersion: 3,
      timeoutMs: 70,
      meta: { trace: 't' },
    },
  ]);
  expect(job).toEqual({ ...jobs[0], id: told });
  const [byId, byLook] = [await row(database.sql, told), await row(database.sql, found)];
  expect(byId).toMatchObject({ state: 'running', lockedBy, attempts: 3 });
  expect(byId?.startedAt?.getTime()).toBeGreaterThan(Date.now() - 60_000);
  expect({ ...byId, id: 0, heartbeatAt: 0, startedAt: 0, runAt: 0, createdAt: 0 }).toEqual({
    ...byLook,
    id: 0,
    heartbeatAt: 0,
    startedAt: 0,
    runAt: 0,
    createdAt: 0,
  });
});

describe('leaves alone', () => {
  it.each([
    ['one that falls due later', () => given(database.sql).available({ dueInS: 60 })],
    ['one of another queue', () => given(database.sql).available({ queue: 'other' })],
    ['one of another kind', () => given(database.sql).available({ kind: 'other' })],
    ['one that runs', () => given(database.sql).running()],
    ['one that has ended', () => given(database.sql).discarded()],
  ])('%s', async (_what, make) => {
    const id = await make();
    const before = await verbatim(database.sql, id);
    expect(await take(id)).toBeUndefined();
    expect(await verbatim(database.sql, id)).toBe(before);
  });

  it('one that is not there, and one that somebody holds', async () => {
    const id = await given(database.sql).available();
    expect(await take(id + 1)).toBeUndefined();
    await whileHeld(database.sql, [id], async () => expect(await take(id)).toBeUndefined());
    expect(await take(id)).toMatchObject({ id });
  });
});

it('of many that are told of one job, one gets it', async () => {
  for (let round = 0; round < 20; round++) {
    const id = await given(database.sql).available();
    const taken = await Promise.all(Array.from({ length: 5 }, () => take(id)));
    expect(taken.filter((job) => job !== undefined)).toHaveLength(1);
    expect(await row(database.sql, id)).toMatchObject({ state: 'running', attempts: 1 });
  }
});

it('is claimed even when its attempts cannot be counted any further', async () => {
  const id = await given(database.sql).available({ attempts: 2 ** 31 - 1 });
  expect(await take(id)).toMatchObject({ id, attempt: 2 ** 31 - 1 });
});
