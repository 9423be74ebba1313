/** Every event that a worker tells of the database, with its fields, and the row that is left. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { Discard } from '../../src/worker.js';
import { until } from '../support/until.js';
import { queue } from './app.js';
import type { UsedDriver } from './stage.js';
import { withWorker } from './worker-stage.js';

export function eventTests(used: UsedDriver): void {
  const task = () => queue.enqueue(used.db, 'task', { does: 'end' });
  const left = () => used.read(sql`select state, attempts, locked_by, last_error from jobs`);

  it('tells of its start, a claim, an end and its stop', async () => {
    const { id } = await task();
    let name = '';
    const seen = await withWorker(
      used,
      () => {},
      async (seen, worker) => {
        name = worker.name;
        await until(() => seen.completed, { what: 'the end' });
      },
    );
    const job = {
      id,
      queue: 'tasks',
      kind: 'task',
      attempt: 1,
      maxAttempts: 10,
      lockedBy: expect.stringContaining(`${name}/`),
    };
    expect(seen).toEqual({
      started: [{ worker: name }],
      claimed: [{ jobs: [job], durationMs: expect.any(Number) }],
      completed: [{ job, durationMs: expect.any(Number) }],
      stopping: [{ running: 0 }],
      stopped: [{ unwritten: 0 }],
    });
  });

  it('tells when an attempt failed, in how many ms the next is due, and when there is none', async () => {
    const [boom, discard] = [new Error('boom'), new Discard('not worth it')];
    await queue.enqueue(used.db, 'task', { does: 'fail once' }, { maxAttempts: 2 });
    await queue.enqueue(used.db, 'task', { does: 'discard' });
    const seen = await withWorker(
      used,
      ({ does }) => {
        throw does === 'discard' ? discard : boom;
      },
      (seen) => until(() => seen.discarded?.length === 2, { what: 'both ends' }).then(() => {}),
    );
    expect(seen.failed).toEqual([
      {
        job: expect.objectContaining({ id: 1, attempt: 1 }),
        error: boom,
        retryInMs: expect.any(Number),
        durationMs: expect.any(Number),
      },
    ]);
    expect(Math.abs(seen.failed?.[0]?.retryInMs ?? Number.NaN)).toBeLessThan(1_000);
    expect(seen.discarded?.map(({ job, error }) => [job.id, job.attempt, error]).sort()).toEqual([
      [1, 2, boom],
      [2, 1, discard],
    ]);
    expect(seen.error).toBeUndefined();
  });

  it('tells when a job was snoozed, and for how long', async () => {
    await task();
    const seen = await withWorker(
      used,
      (_, job) => job.snooze({ runAt: new Date(Date.now() + 3_600_000) }),
      (seen) => until(() => seen.snoozed, { what: 'the snooze' }).then(() => {}),
    );
    expect(seen.snoozed?.[0]?.dueInMs).toBeGreaterThan(3_500_000);
    expect(seen.snoozed?.[0]?.dueInMs).toBeLessThan(3_700_000);
    expect(await left()).toEqual([{ state: 'available', attempts: 0, locked_by: null, last_error: null }]);
  });

  it('tells of a job that it gave back when it stopped', async () => {
    await task();
    const seen = await withWorker(
      used,
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      (seen) => until(() => seen.claimed, { what: 'the claim' }).then(() => {}),
      { graceMs: 0 },
    );
    expect(seen.stopping).toEqual([{ running: 1 }]);
    expect(seen.released).toEqual([{ job: expect.objectContaining({ id: 1 }), started: true }]);
    expect(seen.stopped).toEqual([{ unwritten: 0 }]);
    expect(await left()).toEqual([{ state: 'available', attempts: 1, locked_by: null, last_error: null }]);
  });

  it('tells of a job that it rescued, and runs it again', async () => {
    await used.read(sql`
      insert into jobs (queue, kind, payload, state, attempts, timeout_s, locked_by, started_at, heartbeat_at)
      values ('tasks', 'task', '{"does": "end"}', 'running', 1, 1, 'dead/1', now(), now() - interval '1 hour')`);
    const seen = await withWorker(
      used,
      () => {},
      async (seen) => {
        await until(() => seen.rescued, { what: 'the rescue' });
        await used.read(sql`update jobs set run_at = now()`); // its backoff is over
        await until(() => seen.completed, { what: 'the next run' });
      },
    );
    expect(seen.rescued).toEqual([
      { id: 1, queue: 'tasks', kind: 'task', state: 'available', lockedBy: 'dead/1' },
    ]);
    expect(seen.completed?.[0]?.job.attempt).toBe(2);
    expect(seen.error).toBeUndefined();
  });

  it('tells of a job that somebody took from it, and aborts its signal', async () => {
    await task();
    const reasons: unknown[] = [];
    const seen = await withWorker(
      used,
      (_, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            resolve();
          }),
        ),
      async (seen) => {
        await until(() => seen.claimed, { what: 'the claim' });
        await used.read(sql`delete from jobs`);
        await until(() => seen.lost, { what: 'the loss' });
      },
    );
    expect(reasons).toEqual([expect.objectContaining({ code: 'JOB_LOST' })]);
    expect(seen.lost).toEqual([{ job: expect.objectContaining({ id: 1 }), during: 'handler' }]);
    expect(seen.completed).toBeUndefined();
  });

  it('says which table is missing, and works when it is there again', async () => {
    await used.read(sql`alter table jobs rename to jobs_of_others`);
    const seen = await withWorker(
      used,
      () => {},
      async (seen) => {
        await until(() => seen.error, { what: 'the error' });
        await used.read(sql`alter table jobs_of_others rename to jobs`);
        await task();
        await until(() => seen.completed, { what: 'the job' });
      },
    );
    for (const { error } of seen.error ?? []) {
      expect(error).toMatchObject({
        code: 'TABLE_MISMATCH',
        message: expect.stringContaining('public.jobs'),
      });
    }
  });

  it('serves only the kinds it was told to', async () => {
    await queue.enqueue(used.db, 'spare');
    await task();
    const seen = await withWorker(
      used,
      () => {},
      (seen) => until(() => seen.completed, { what: 'the task' }).then(() => {}),
    );
    expect(seen.claimed?.flatMap(({ jobs }) => jobs.map(({ kind }) => kind))).toEqual(['task']);
    expect(await left()).toEqual([{ state: 'available', attempts: 0, locked_by: null, last_error: null }]);
  });
}
