/** What claim, heartbeat, rescue, release and complete answer, also for ids that 32 bits cannot hold. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { isRowFault, sqlState } from '../../src/database/sqlstate.js';
import { claim } from '../../src/sql/claim.js';
import { claimTold } from '../../src/sql/claim-told.js';
import { completeIn } from '../../src/sql/complete.js';
import { heartbeat } from '../../src/sql/heartbeat.js';
import { releaseClaims } from '../../src/sql/release-claims.js';
import { findDead, rescue } from '../../src/sql/rescue.js';
import { databaseTimeS, sessionDefaults } from '../../src/sql/session.js';
import type { ClaimedId } from '../../src/words/outcome.js';
import { finish } from '../support/finish.js';
import { until } from '../support/until.js';
import { byClaim, queue, table } from './app.js';
import { claimGreet, greet, rescueDead } from './jobs.js';
import type { UsedDriver } from './stage.js';

const nothing = { jobs: [], refused: [] };

export function statementTests(used: UsedDriver): void {
  it.each([0, 2_147_483_646, 5_000_000_000])('answer with numbers for ids after %s', async (before) => {
    if (before > 0) await used.startIdsAfter(before);
    const { id } = await queue.enqueue(used.db, 'greet', null);
    const ids = [id, ...(await greet(used, 5))];
    expect(ids).toEqual([1, 2, 3, 4, 5, 6].map((n) => before + n));

    const claimed = await claimGreet(used, 10, 'worker/1');
    expect(claimed.map((job) => job.id)).toEqual(ids);
    const claims = ids.map((each) => ({ id: each, lockedBy: 'worker/1' }));
    const pulses = await heartbeat(used.db, table, claims);
    expect(pulses.sort(byClaim)).toEqual(claims.map((each) => ({ ...each, pulse: 'ours' })));

    const finishes = claims.slice(0, 2).map((each) => ({ ...each, outcome: { move: 'complete' } as const }));
    const finished = await finish(used.db, table, finishes);
    expect(finished.sort(byClaim)).toEqual(
      claims.slice(0, 2).map((each) => ({ ...each, result: 'done', state: null, dueInMs: null })),
    );
    const third = { id: ids[2] ?? 0, lockedBy: 'worker/1' };
    expect(await used.db.transaction((tx) => completeIn(tx, table, third))).toBe(true);

    const rest = ids.slice(3);
    expect((await releaseClaims(used.db, table, ['worker/1'])).sort()).toEqual(rest);
    await claimGreet(used, 10, 'worker/2');
    const rescued = await rescueDead(used);
    expect(rescued.sort(byClaim)).toEqual(
      rest.map((each) => ({
        id: each,
        queue: 'default',
        kind: 'greet',
        state: 'available',
        lockedBy: 'worker/2',
      })),
    );
  });

  it('claim in order, with parsed payloads', async () => {
    await queue.enqueueMany(used.db, [
      { kind: 'greet', payload: { n: 1 } },
      { kind: 'greet', payload: 'second', priority: 5 },
      { kind: 'task', payload: { does: 'end' }, maxAttempts: 2, timeoutMs: 50, meta: { 'trace "': [1] } },
      { kind: 'greet', payload: null, delayMs: 3_600_000 },
    ]);
    const want = new Map([
      ['tasks', 3],
      ['default', 3],
    ]);
    const kinds = ['greet', 'task', 'unheard of'];
    const common = { lockedBy: 'worker/1', attempt: 1, payloadVersion: 1 };
    const more = { timeoutMs: 50, meta: { 'trace "': [1] } };
    expect((await claim(used.db, table, { want, kinds, lockedBy: 'worker/1' })).jobs).toEqual([
      { ...common, id: 3, queue: 'tasks', kind: 'task', payload: { does: 'end' }, maxAttempts: 2, ...more },
      { ...common, id: 2, queue: 'default', kind: 'greet', payload: 'second', maxAttempts: 3 },
      { ...common, id: 1, queue: 'default', kind: 'greet', payload: { n: 1 }, maxAttempts: 3 },
    ]);
    expect(await claim(used.db, table, { want, kinds, lockedBy: 'worker/2' })).toMatchObject(nothing);
  });

  it('claim the one job that was told of, whatever way it was enqueued', async () => {
    const meta = { trace: 'a' };
    await queue.enqueue(used.db, 'greet', { n: 1 }, { queue: 'tasks', timeoutMs: 7, meta });
    await queue.enqueue(used.db, 'greet', { n: 2 }, { queue: 'tasks', timeoutMs: 7, meta, dedupeKey: 'a' });
    const replace = { dedupeKey: 'b', onDuplicate: 'replace' } as const;
    await queue.enqueue(used.db, 'greet', { n: 0 }, { timeoutMs: 8, ...replace });
    await queue.enqueue(used.db, 'greet', { n: 3 }, { queue: 'tasks', timeoutMs: 7, meta, ...replace });
    for (const id of [1, 2, 3]) {
      const told = { id, queue: 'tasks', kinds: ['greet'], lockedBy: `worker/${id}` };
      const expected = {
        id,
        kind: 'greet',
        payload: { n: id },
        attempt: 1,
        payloadVersion: 1,
        timeoutMs: 7,
        meta,
      };
      expect(await claimTold(used.db, table, told)).toMatchObject(expected);
      expect(await claimTold(used.db, table, told)).toBeUndefined();
    }
  });

  it('claim nothing for no kinds and for no queues', async () => {
    await greet(used, 1);
    const want = new Map([['default', 1]]);
    expect(await claim(used.db, table, { want, kinds: [], lockedBy: 'worker/1' })).toMatchObject(nothing);
    expect(
      await claim(used.db, table, { want: new Map(), kinds: ['greet'], lockedBy: 'worker/2' }),
    ).toMatchObject(nothing);
    expect(await claimGreet(used, 1, 'worker/3')).toHaveLength(1);
  });

  it('answer a heartbeat for each claim', async () => {
    await greet(used, 2);
    await claimGreet(used, 1, 'worker/1');
    const answer = await heartbeat(used.db, table, [
      { id: 2, lockedBy: 'worker/1' },
      { id: 1, lockedBy: 'worker/1' },
      { id: 1, lockedBy: 'worker/0' },
      { id: 99, lockedBy: '' },
    ]);
    expect(answer.sort(byClaim)).toEqual([
      { id: 1, lockedBy: 'worker/0', pulse: 'lost' },
      { id: 1, lockedBy: 'worker/1', pulse: 'ours' },
      { id: 2, lockedBy: 'worker/1', pulse: 'lost' },
      { id: 99, lockedBy: '', pulse: 'gone' },
    ]);
    expect(await heartbeat(used.db, table, [])).toEqual([]);
  });

  it('discard what is rescued without attempts left, and say why', async () => {
    await greet(used, 1);
    await used.read(sql`update jobs set max_attempts = 1`);
    await claimGreet(used, 1, 'worker/1');
    expect(await rescueDead(used)).toEqual([
      { id: 1, queue: 'default', kind: 'greet', state: 'discarded', lockedBy: 'worker/1' },
    ]);
    const error = 'rescued: no heartbeat for more than 1 s from worker/1';
    expect(await used.read(sql`select state, last_error, errors from jobs`)).toEqual([
      { state: 'discarded', last_error: error, errors: [{ attempt: 1, at: expect.any(String), error }] },
    ]);
  });

  it('complete in a transaction that commits, and not in one that rolls back', async () => {
    await greet(used, 2);
    await claimGreet(used, 2, 'worker/1');
    const rolledBack = used.db.transaction(async (tx) => {
      expect(await completeIn(tx, table, { id: 1, lockedBy: 'worker/1' })).toBe(true);
      tx.rollback();
    });
    await expect(rolledBack).rejects.toThrow();
    const complete = (lockedBy: string) =>
      used.db.transaction((tx) => completeIn(tx, table, { id: 1, lockedBy }));
    expect([await complete('worker/2'), await complete('worker/1'), await complete('worker/1')]).toEqual([
      false,
      true,
      false,
    ]);
    expect(await used.read(sql`select id::int as id, state from jobs`)).toEqual([
      { id: 2, state: 'running' },
    ]);
  });

  it('fail with the SQLSTATE of Postgres, in and out of a transaction', async () => {
    const errors = [
      await used.read(sql`select 1 / 0`).catch((error: unknown) => error),
      await used.db
        .transaction((tx) => tx.execute(sql`insert into jobs (kind) values ('')`))
        .catch((error: unknown) => error),
      await used.read(sql`select * from nothing`).catch((error: unknown) => error),
    ];
    expect(errors.map(sqlState)).toEqual(['22012', '23514', '42P01']);
    expect(errors.map(isRowFault)).toEqual([true, true, false]);
  });

  it('rescue what was dead at an earlier look, and nothing after the time given', async () => {
    await greet(used, 3);
    await claimGreet(used, 3, 'worker/1');
    await used.read(sql`update jobs set heartbeat_at = now() - interval '1 hour' where id < 3`);
    // Nothing is dead before the server has run for as long as a job may go without a heartbeat, here a second.
    let dead: ClaimedId[] = [];
    await until(
      async () => {
        dead = await findDead(used.db, table);
        return dead.length === 2;
      },
      { what: 'two dead jobs' },
    );
    expect(dead.sort(byClaim)).toEqual([
      { id: 1, lockedBy: 'worker/1' },
      { id: 2, lockedBy: 'worker/1' },
    ]);
    const among = [
      { id: 2, lockedBy: 'worker/1' },
      { id: 1, lockedBy: 'worker/0' },
    ];
    const nowS = await databaseTimeS(used.db);
    expect(await rescue(used.db, table, { among, notAfterS: nowS - 1 })).toEqual([]);
    expect(await rescue(used.db, table, { among, notAfterS: nowS + 60 })).toMatchObject([{ id: 2 }]);
    expect(await rescue(used.db, table, { among })).toEqual([]);
  });

  it('read the database’s clock', async () => {
    const difference = Date.now() / 1_000 - (await databaseTimeS(used.db));
    expect(Math.abs(difference)).toBeLessThan(60);
  });

  it('read the defaults of a session', async () => {
    expect(await sessionDefaults(used.db)).toEqual({ isolation: 'read committed', readOnly: false });
  });
}
