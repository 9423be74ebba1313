/** Sessions as a sign of life: what is seen of their locks, and what a rescue still tests when one is gone. */

import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Session, sessionOpener } from '../../src/database/session.js';
import { rescueEnded } from '../../src/sql/rescue.js';
import {
  claimsOfWorkers,
  lookAtSessions,
  takeSessionLock,
  tellQueues,
  untellQueues,
} from '../../src/sql/sessions.js';
import { useDatabase } from '../support/database.js';
import { fill, given, row, table, verbatim, whileHeld } from '../support/jobs.js';
import { until } from '../support/until.js';

const database = useDatabase();
const lock = { group: 0xfedc_ba98, key: 0xffff_0001 };
const channel = 'drizzle_queue_test';
let sessions: Session[] = [];

beforeEach(() => database.sql`truncate jobs`);
afterEach(async () => {
  for (const session of sessions) session.end();
  await Promise.all(sessions.map(({ lost }) => lost));
  sessions = [];
});

async function openSession(): Promise<Session> {
  const open = sessionOpener(database.db);
  if (!open) throw new Error('postgres.js has sessions.');
  const session = await open();
  sessions.push(session);
  return session;
}

describe('a session', () => {
  it('holds its lock until it ends, and another of the same key gets none meanwhile', async () => {
    const [first, second] = [await openSession(), await openSession()];
    expect(await takeSessionLock(first, lock)).toBe(true);
    expect(await takeSessionLock(second, lock)).toBe(false);
    first.end();
    await first.lost;
    await until(() => takeSessionLock(second, lock), { what: 'the lock' });
  });

  it('is lost when its backend is killed, and is not made again by a query', async () => {
    const session = await openSession();
    await takeSessionLock(session, lock);
    await database.sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 2 and objid = ${lock.key}`;
    await session.lost;
    await expect(takeSessionLock(session, lock)).rejects.toThrow();
  });

  it('is seen by others of its group and database only, under its whole key', async () => {
    const [session, other] = [await openSession(), await openSession()];
    await takeSessionLock(session, lock);
    await tellQueues(session, lock.group, [7, 0xffff_fff0]);
    await takeSessionLock(other, { group: lock.group - 1, key: 5 });
    // An app's own lock of one number is none of ours, though its halves are.
    const own = await database.sql.reserve();
    await own`select pg_advisory_lock((${String(lock.group)}::bigint << 32) | 7)`;
    expect(await lookAtSessions(other, table, lock.group, channel)).toEqual({
      atS: expect.any(Number),
      held: new Map([[lock.key, new Set([7, 0xffff_fff0])]]),
      listening: false,
      running: false,
    });
    await given(database.sql).running();
    expect(await lookAtSessions(session, table, lock.group, channel)).toMatchObject({ running: true });
    await own`select pg_advisory_unlock_all()`;
    own.release();

    await untellQueues(session, lock.group, [7]);
    const elsewhere = postgres(database.url.replace(/[^/]+$/, 'postgres'), { max: 1 });
    const open = sessionOpener(drizzle({ client: elsewhere }));
    const foreign = await open?.();
    if (foreign) sessions.push(foreign);
    await takeSessionLock(foreign ?? other, { group: lock.group, key: 9 });
    expect((await lookAtSessions(session, table, lock.group, channel)).held).toEqual(
      new Map([[lock.key, new Set([0xffff_fff0])]]),
    );
    await elsewhere.end();
  });
});

describe('the jobs of a worker whose session is gone', () => {
  const worker = 'host-1-ffffff0001';
  const running = (claim: number, heartbeatAgoS: number) =>
    given(database.sql).running({ lockedBy: `${worker}/${claim}`, heartbeatAgoS });

  async function newest(): Promise<string> {
    const [claims] = await claimsOfWorkers(await openSession(), table, 'ffff0001');
    expect(claims?.worker).toBe(worker);
    return claims?.newest ?? '';
  }
  const rescueIts = (since: string) => rescueEnded(database.db, table, { worker, newest: since, lock });

  it('are all rescued, however young their heartbeats are, and those of others are not', async () => {
    const mine = [await running(1, 5), await running(2, 1)];
    const others = [
      await given(database.sql).running({ lockedBy: `${worker}0/1` }),
      await given(database.sql).running({ lockedBy: `x${worker}/1` }),
      await given(database.sql).available(),
    ];
    const before = await Promise.all(others.map((id) => verbatim(database.sql, id)));

    const rescued = await rescueIts(await newest());

    expect(rescued.map(({ id }) => id).sort()).toEqual(mine.sort());
    expect(await row(database.sql, mine[0] ?? 0)).toMatchObject({
      state: 'available',
      lastError: `rescued: the process of ${worker}/1 ended`,
    });
    expect(await Promise.all(others.map((id) => verbatim(database.sql, id)))).toEqual(before);
  });

  it('are left when one of its claims was renewed since', async () => {
    await running(1, 5);
    const second = await running(2, 1);
    const since = await newest();
    await database.sql`update jobs set heartbeat_at = heartbeat_at + interval '1 microsecond' where id = ${second}`;
    expect(await rescueIts(since)).toEqual([]);
  });

  it('are left while its lock is held again', async () => {
    await running(1, 5);
    const since = await newest();
    const session = await openSession();
    await takeSessionLock(session, lock);
    expect(await rescueIts(since)).toEqual([]);
    session.end();
    await session.lost;
    await until(async () => (await rescueIts(since)).length, { what: 'the rescue' });
  });

  it('are left when the look at its session is too long ago', async () => {
    await running(1, 5);
    const session = await openSession();
    const { atS } = await lookAtSessions(session, table, lock.group, channel);
    const ended = { worker, newest: await newest(), lock };
    expect(await rescueEnded(database.db, table, { ...ended, notAfterS: atS })).toEqual([]);
    expect(await rescueEnded(database.db, table, { ...ended, notAfterS: atS + 60 })).toHaveLength(1);
  });

  it('are left where somebody holds the row', async () => {
    const [held, free] = [await running(1, 5), await running(2, 5)];
    const since = await newest();
    const rescued = await whileHeld(database.sql, [held], () => rescueIts(since));
    expect(rescued.map(({ id }) => id)).toEqual([free]);
  });

  it('are 500 at once at most', async () => {
    await fill(database.sql).running(501, { lockedBy: `${worker}/1` });
    expect(await rescueIts(await newest())).toHaveLength(500);
    expect(await rescueIts(await newest())).toHaveLength(1);
  });
});
