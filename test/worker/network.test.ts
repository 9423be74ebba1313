/**
 * The network between a worker and its database: a claim whose answer is lost, and connections that break.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { claimsWait, given, row, untilServerHasRunFor } from '../support/jobs.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { waitingForAdvisory } from '../support/waiting.js';
import { connectAgain } from './connect-again.js';
import { createGate } from './gate.js';
import { type Seen, useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);
let proxy: TcpProxy;

beforeAll(async () => {
  await untilServerHasRunFor(database.sql, 2);
  proxy = await startTcpProxy(database.url);
  // A claim waits in its middle while a test holds the lock.
  await claimsWait(database.sql);
});
afterEach(() => proxy.mend());
afterAll(() => proxy.end());

describe.each(['postgres.js', 'node-postgres'] as const)('on %s', (driver) => {
  it('gives back what a claim took whose answer was lost, with the attempt', async () => {
    const through = connectAgain[driver](proxy.url);
    const attempts: number[] = [];
    const { add, seen, worker } = await startTask((_, { attempt }) => void attempts.push(attempt), {
      db: through.db,
    });
    const connected = () => database.sql`
      select from pg_stat_activity where datname = current_database() and application_name = 'test again'`;
    await until(async () => (await connected()).length, { what: 'the worker to be connected' });

    const id = await database.sql.begin(async (holder) => {
      await holder`select pg_advisory_xact_lock(1)`;
      const job = await add(1);
      await until(async () => (await waitingForAdvisory(database.sql)).length, {
        what: 'the claim to be half-way',
      });
      proxy.loseAnswers();
      return job;
    });
    await until(async () => (await row(database.sql, id))?.state === 'running', { what: 'the claim' });
    expect(attempts).toEqual([]);
    proxy.mend();

    await until(() => seen.completed.length, { what: 'the run' });
    expect(attempts).toEqual([1]);
    expect(seen).toMatchObject({ rescued: [], lost: [], failed: [] });
    await worker.stop();
    await through.end();
  });

  it('starts nothing of a claim that was answered when its jobs may be with others already', async () => {
    const through = connectAgain[driver](database.url);
    const claims: string[] = [];
    const options = { db: through.db, rescueAfterMs: 1_000, heartbeatMs: 300, slots: 1 };
    const { add, seen, worker } = await startTask((_, job) => void claims.push(job.lockedBy), options);
    await database.sql.begin(async (holder) => {
      await holder`select pg_advisory_xact_lock(1)`;
      await add(1);
      await until(async () => (await waitingForAdvisory(database.sql)).length, {
        what: 'the claim to be half-way',
      });
      const began = performance.now();
      await until(() => performance.now() - began > 1_100, { what: 'it to take longer than the limit' });
    });
    await until(() => seen.completed.length, { what: 'the run' });
    // Given back by name, with its attempt, and claimed again in a moment.
    expect(claims).toEqual([seen.completed[0]?.job.lockedBy]);
    expect(seen.claimed).toEqual([
      expect.objectContaining({ jobs: [expect.objectContaining({ attempt: 1 })] }),
    ]);
    expect(seen.claimed[0]?.durationMs).toBeLessThan(1_000);
    expect(seen).toMatchObject({ rescued: [], lost: [] });
    await worker.stop();
    await through.end();
  });

  it('two heartbeat intervals must go well before it rescues, after every break', async () => {
    const through = connectAgain[driver](proxy.url);
    const { seen, worker } = await startTask(() => undefined, { db: through.db, heartbeatMs: 400 });

    const atStart = await rescued(seen);
    const inPeace = await rescued(seen);
    proxy.cut();
    await until(() => failures(seen).length, { what: 'a failed statement' });
    proxy.mend();
    const afterBreak = await rescued(seen);

    expect(atStart).toBeGreaterThan(790); // the start was a moment ago
    expect(inPeace).toBeLessThan(1_300); // two looks, and the row may have come just after one
    expect(afterBreak).toBeGreaterThan(790); // and so was the break
    await worker.stop();
    await through.end();
  });

  it('a rescue that the network held up does nothing when it arrives', async () => {
    const through = connectAgain[driver](proxy.url);
    const { seen, worker } = await startTask(() => undefined, { db: through.db, heartbeatMs: 400 });
    await rescued(seen);

    proxy.hold();
    const [held] = await database.sql`select clock_timestamp() as at`;
    const later = () =>
      database.sql`select where clock_timestamp() > ${held?.at}::timestamptz + interval '1 second'`;
    // Longer than a heartbeat interval: the worker has sent a rescue.
    await until(async () => (await later()).length, { what: 'a second of outage' });
    const id = await given(database.sql).running({ heartbeatAgoS: 3_600, timeoutS: 1 });
    const began = performance.now();
    proxy.release();
    await until(() => seen.rescued.some((one) => one.id === id), { what: 'the rescue' });

    expect(performance.now() - began).toBeGreaterThan(700);
    await worker.stop();
    await through.end();
  });

  it('workers that were all cut off for longer than the rescue limit keep their jobs', async () => {
    const go = createGate();
    const options = { rescueAfterMs: 1_000, heartbeatMs: 300, slots: 3 };
    const [one, two] = [connectAgain[driver](proxy.url), connectAgain[driver](proxy.url)];
    const first = await startTask(() => go.passed, { ...options, db: one.db });
    const ids = await Promise.all([first.add(1), first.add(2), first.add(3)]);
    await until(() => first.seen.claimed.flatMap(({ jobs }) => jobs).length === 3, { what: 'the claims' });
    const second = await startTask(() => go.passed, { ...options, db: two.db });
    // Its rescues would come now: two intervals of it have gone well.
    const dead = await given(database.sql).running({ heartbeatAgoS: 3_600, timeoutS: 1 });
    await until(() => first.seen.rescued.length + second.seen.rescued.length, { what: 'a first rescue' });

    proxy.cut();
    await until(() => failures(first.seen).length && failures(second.seen).length, {
      what: 'failed statements',
    });
    await database.sql`update jobs set heartbeat_at = heartbeat_at - interval '1 hour' where state = 'running'`;
    proxy.mend();
    const renewed = () => database.sql`select from jobs where heartbeat_at < now() - interval '1 minute'`;
    await until(async () => (await renewed()).length === 0, { what: 'heartbeats of all jobs' });
    go.open();

    await until(() => first.seen.completed.length === 3, { what: 'the ends' });
    expect(first.seen.lost).toEqual([]);
    const rescues = [...first.seen.rescued, ...second.seen.rescued].map(({ id }) => id);
    expect(rescues).toEqual([dead]);
    expect(ids).not.toContain(dead);
    await Promise.all([first.worker.stop(), second.worker.stop()]);
    await Promise.all([one.end(), two.end()]);
  });
});

/** Errors of statements; that idle connections broke is another thing. */
const failures = (seen: Seen) => seen.error.filter(({ during }) => during !== 'connection');

/** How many ms it takes the worker to rescue a job that is dead from now on. */
async function rescued(seen: Seen): Promise<number> {
  // Before anything is waited for: what the worker hears meanwhile is of this time as well.
  const began = performance.now();
  const id = await given(database.sql).running({ heartbeatAgoS: 3_600, timeoutS: 1, lockedBy: 'dead/1' });
  const event = await until(() => seen.rescued.find((one) => one.id === id), { what: 'the rescue' });
  expect(event).toMatchObject({ lockedBy: 'dead/1', state: 'available' });
  return performance.now() - began;
}
