/** Every end of a run with a dedupe key: the key stays with a job that will run again, and is free after one that will not. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { claim } from '../../src/sql/claim.js';
import { completeIn } from '../../src/sql/complete.js';
import { releaseClaims } from '../../src/sql/release-claims.js';
import { rescue } from '../../src/sql/rescue.js';
import type { Outcome } from '../../src/words/outcome.js';
import { useDatabase } from '../support/database.js';
import { finish } from '../support/finish.js';
import { given, type RunningColumns, row, table, untilServerHasRunFor } from '../support/jobs.js';

const database = useDatabase();
const queue = createQueue(defineJobs({ greet: job({ dedupeKey: () => 'k' }) }));
const lockedBy = 'worker/1';

beforeAll(() => untilServerHasRunFor(database.sql, 1.5));
beforeEach(() => database.sql`truncate jobs`);

const running = (columns: RunningColumns = {}) =>
  given(database.sql).running({ dedupeKey: 'k', lockedBy, ...columns });
const end = (outcome: Outcome) => (id: number) => finish(database.db, table, [{ id, lockedBy, outcome }]);
const fail = end({ move: 'fail', error: 'no luck', delayMs: 0 });
const dead = { timeoutS: 1, heartbeatAgoS: 3_600 };
const spent = { attempts: 10 };

describe('the key stays with a job', () => {
  it.each<[string, RunningColumns, (id: number) => Promise<unknown>]>([
    ['that failed', {}, fail],
    ['that snoozed', {}, end({ move: 'snooze', when: { delayMs: 0 } })],
    ['that was released', {}, end({ move: 'release', started: false })],
    ['whose claim was released', {}, () => releaseClaims(database.db, table, [lockedBy])],
    ['that was rescued', dead, () => rescue(database.db, table)],
  ])('%s, and it runs again', async (_, columns, move) => {
    const id = await running(columns);
    await move(id);
    expect(await row(database.sql, id)).toMatchObject({ state: 'available', dedupeKey: 'k' });
    expect(await queue.enqueue(database.db, 'greet')).toEqual({ id, duplicate: true });
    await database.sql`update jobs set run_at = now()`;
    const request = { want: new Map([['default', 5]]), kinds: ['greet'], lockedBy: 'worker/2' };
    expect((await claim(database.db, table, request)).jobs).toMatchObject([{ id }]);
  });
});

describe('the key is free after a job', () => {
  it.each<[string, RunningColumns, (id: number) => Promise<unknown>]>([
    ['that completed', {}, end({ move: 'complete' })],
    [
      'that completed in a transaction',
      {},
      (id) => database.db.transaction((tx) => completeIn(tx, table, { id, lockedBy })),
    ],
    ['that was discarded', {}, end({ move: 'discard', error: 'pointless' })],
    ['that failed for the last time', spent, fail],
    ['that was rescued after its last attempt', { ...dead, ...spent }, () => rescue(database.db, table)],
  ])('%s', async (_, columns, move) => {
    const id = await running(columns);
    await move(id);
    const next = await queue.enqueue(database.db, 'greet');
    expect(next.duplicate).toBe(false);
    expect(next.id).not.toBe(id);
  });

  it('that its own transaction completes', async () => {
    const id = await running();
    const next = await database.db.transaction(async (tx) => {
      await completeIn(tx, table, { id, lockedBy });
      return queue.enqueue(tx, 'greet');
    });
    expect(next.duplicate).toBe(false);
    expect(await row(database.sql, id)).toBeUndefined();
  });
});

it('a batch of ends in which jobs have keys, some taken by others, fails for none', async () => {
  const ids = [
    await running(),
    await running({ dedupeKey: 'l' }),
    await running({ kind: 'other' }),
    await running({ dedupeKey: null }),
  ];
  const outcome = { move: 'fail', error: 'no luck', delayMs: 0 } as const;
  await finish(
    database.db,
    table,
    ids.map((id) => ({ id, lockedBy, outcome })),
  );
  for (const id of ids) expect(await row(database.sql, id)).toMatchObject({ state: 'available' });
});

it('a replay by plain SQL is refused while another job has the key, and then for its statement only', async () => {
  const old = await given(database.sql).discarded({ dedupeKey: 'k' });
  const other = await given(database.sql).discarded({ dedupeKey: 'l' });
  const { id } = await queue.enqueue(database.db, 'greet');
  const replay = (id: number) => database.sql`
    update jobs set state = 'available', attempts = 0, finished_at = null where id = ${id}`;
  expect(sqlState(await replay(old).catch((error: unknown) => error))).toBe('23505');
  await replay(other);
  expect(await row(database.sql, other)).toMatchObject({ state: 'available' });
  await database.sql`delete from jobs where id = ${id}`;
  await replay(old);
  expect(await queue.enqueue(database.db, 'greet')).toEqual({ id: old, duplicate: true });
});
