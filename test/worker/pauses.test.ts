/** No job of what is paused starts, in any worker, until it is resumed; and no worker looks for one meanwhile. */
import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { claims, last, lookedMs, passes, queue, task, tasks, toldMs, usePauses } from './pauses-stage.js';

const database = useDatabase();
const { logged, listening, waiting } = usePauses(database);

describe('a worker that listens', () => {
  it('knows what is paused before its first claim, and starts the jobs at once when that is resumed', async () => {
    await queue.pause(database.db, { queue: 'default' });
    await queue.enqueueMany(database.db, tasks(3));
    const { seen, ran } = await listening();
    await queue.enqueue(database.db, 'other', { n: 9 });
    await until(() => ran.length, { what: 'the job of the queue that goes on' });
    expect(ran.map(({ kind }) => kind)).toEqual(['other']);
    expect(seen.paused).toEqual([{ queue: 'default' }]);
    expect(await waiting()).toBe(3);

    await queue.enqueueMany(database.db, tasks(3));
    await queue.resume(database.db, { queue: 'default' });
    await until(() => seen.completed.length === 7, { what: 'its jobs', timeoutMs: 1_000 });
    expect(seen.resumed).toEqual([{ queue: 'default' }]);
    expect(seen).toMatchObject({ paused: [{}], error: [], problem: [] });
  });

  it('starts nothing more under load, lets run what runs, and a retry waits', async () => {
    const go = createGate();
    const { seen, ran } = await listening({
      queues: { default: 5, other: 5 },
      handle: ({ n }, attempt) => {
        if (n === 7 && attempt === 1) return go.passed.then(() => Promise.reject(new Error('again')));
        return n === 8 ? go.passed : undefined;
      },
    });
    let n = 0;
    let paused = Number.POSITIVE_INFINITY;
    const enqueue = async (): Promise<void> => {
      while (performance.now() < paused + 2 * toldMs)
        await queue.enqueueMany(
          database.db,
          tasks(20).map(() => task(n++)),
        );
    };
    const load = Promise.all([enqueue(), enqueue()]);
    await until(() => ran.length > 200, { what: 'the load' });
    await queue.pause(database.db, { queue: 'default' });
    paused = performance.now();
    await load;
    expect(last(ran)).toBeLessThan(paused + toldMs);
    expect(ran.length).toBeLessThan(n);
    go.open();
    await until(() => seen.failed.length && seen.completed.some(({ job }) => job.kind === 'task'), {
      what: 'the ends',
    });
    await until(async () => (await waiting()) === n + 1 - ran.length, {
      what: 'all others to wait, and the retry',
    });
    expect(last(ran)).toBeLessThan(paused + toldMs);

    await queue.resume(database.db, { queue: 'default' });
    await until(() => ran.length === n + 1, { what: 'all of them' });
    expect(new Set(ran.map((run) => run.n)).size).toBe(n);
    expect(seen).toMatchObject({ paused: [{}], resumed: [{}], error: [] });
  });

  it('goes on where the pausing transaction is rolled back', async () => {
    const { seen, ran } = await listening();
    const rolledBack = database.db.transaction(async (tx) => {
      expect(await queue.pause(tx, { queue: 'default' })).toEqual({ result: 'done' });
      expect(await queue.paused(tx)).toHaveLength(1);
      tx.rollback();
    });
    await expect(rolledBack).rejects.toThrow();
    await queue.enqueue(database.db, 'task', { n: 1 });
    await until(() => ran.length, { what: 'the job', timeoutMs: 1_000 });
    expect(seen.paused).toEqual([]);
    expect(await queue.paused(database.db)).toEqual([]);
  });

  it('claims nothing for jobs of a paused queue that come, or fall due', async () => {
    const { db, sent } = logged();
    const { seen } = await listening({ db, pollIntervalMs: 1_000 });
    await queue.pause(database.db, { queue: 'default' });
    await queue.pause(database.db, { queue: 'other' });
    await until(() => seen.paused.length === 2, { what: 'both to be known' });
    sent.length = 0;
    for (let n = 0; n < 50; n++) {
      await queue.enqueue(database.db, 'task', { n });
      await queue.enqueue(database.db, 'other', { n }, { delayMs: 20 * n });
    }
    await passes(1_500);
    expect(claims(sent)).toBe(0);
    expect(sent.length).toBeLessThan(5);
    await queue.resume(database.db, { queue: 'other' });
    await until(() => seen.completed.length === 50, { what: 'those that fell due', timeoutMs: 2_000 });
    expect(await waiting()).toBe(50);
  });

  it('sends no statement more for it, and finds by its look at the sessions what nobody told of', async () => {
    const { db, sent } = logged();
    const { seen } = await listening({ db, pollIntervalMs: 200 });
    await passes(2_100); // that look has said that the session listens
    sent.length = 0;
    await passes(2_100);
    expect(claims(sent)).toBeGreaterThan(5);
    expect(sent.filter((text) => text.includes('job_limits'))).toEqual([]);
    await database.sql`insert into job_limits (scope, name) values ('queue', 'default'), ('kind', 'unknown')`;
    await until(() => seen.paused.length, { what: 'the pause', timeoutMs: lookedMs });
    await database.sql`truncate job_limits`;
    await until(() => seen.resumed.length, { what: 'its end', timeoutMs: lookedMs });
    expect(seen).toMatchObject({ paused: [{ queue: 'default' }], resumed: [{ queue: 'default' }] });
  });

  it('looks at once for delayed jobs of what was resumed, and starts them in time', async () => {
    await queue.pause(database.db, { queue: 'default' });
    const { seen, ran } = await listening();
    await until(() => seen.paused.length, { what: 'the pause' });
    await queue.enqueue(database.db, 'task', { n: 1 }, { delayMs: 700 });
    const enqueued = performance.now();
    await queue.resume(database.db, { queue: 'default' });
    await until(() => ran.length, { what: 'the job', timeoutMs: 3_000 });
    expect(last(ran) - enqueued).toBeGreaterThan(650);
    expect(last(ran) - enqueued).toBeLessThan(1_200);
  });
});

describe('a kind', () => {
  it('is paused on every queue, also under its alias, and others go on', async () => {
    await queue.pause(database.db, { kind: 'mail' });
    await queue.enqueue(database.db, 'mail', { n: 1 });
    await queue.enqueue(database.db, 'mail', { n: 2 }, { queue: 'other' });
    await database.sql`insert into jobs (queue, kind, payload) values ('default', 'letter', '{"n": 3}'), ('other', 'letter', '{"n": 4}')`;
    await queue.enqueue(database.db, 'task', { n: 5 });
    await queue.enqueue(database.db, 'other', { n: 6 });
    const { seen, ran } = await listening();
    await until(() => ran.length === 2, { what: 'the others' });
    await queue.enqueue(database.db, 'task', { n: 7 });
    await until(() => ran.length === 3, { what: 'one more' });
    expect(ran.map(({ n }) => n).sort()).toEqual([5, 6, 7]);
    await queue.resume(database.db, { kind: 'mail' });
    await until(() => seen.completed.length === 7, { what: 'all of them', timeoutMs: 1_000 });
    expect(seen).toMatchObject({ paused: [{ kind: 'mail' }], resumed: [{ kind: 'mail' }], error: [] });
  });

  it('is also paused by one of its names alone, as another release may have written it', async () => {
    await database.sql`insert into job_limits (scope, name) values ('kind', 'letter')`;
    await queue.enqueue(database.db, 'mail', { n: 1 });
    const { seen } = await listening();
    await until(() => seen.paused.length, { what: 'the pause' });
    expect(seen.paused).toEqual([{ kind: 'mail' }]);
    expect(await queue.resume(database.db, { kind: 'mail' })).toEqual({ result: 'done' });
    await until(() => seen.completed.length, { what: 'the job', timeoutMs: 1_000 });
  });

  it('whose jobs lie in front of others that keep coming starts at once when it is resumed', async () => {
    await queue.pause(database.db, { kind: 'mail' });
    await database.sql`
      insert into jobs (kind, payload, run_at)
      select 'mail', '{"n": 1}', now() - interval '1 hour' from generate_series(1, 20)`;
    let over = false;
    const { ran } = await listening({ handle: () => new Promise((resolve) => setTimeout(resolve, 2)) });
    const load = (async () => {
      for (let n = 0; !over; n += 500) {
        await queue.enqueueMany(
          database.db,
          Array.from({ length: 500 }, (_, i) => task(n + i)),
        );
        await until(async () => over || (await waiting()) < 500, { what: 'room for more' });
      }
    })();
    await until(() => ran.length > 1_000, { what: 'the load' });
    const resumed = performance.now();
    await queue.resume(database.db, { kind: 'mail' });
    const mails = () => ran.filter(({ kind }) => kind === 'mail');
    await until(() => mails().length === 20, { what: 'its jobs' });
    over = true;
    await load;
    expect(last(mails()) - resumed).toBeLessThan(500);
  });

  it('and every other kind: then nothing is looked for', async () => {
    const { db, sent } = logged();
    const { seen } = await listening({ db });
    for (const kind of ['task', 'mail', 'other'] as const) await queue.pause(database.db, { kind });
    await until(() => seen.paused.length === 3, { what: 'all to be known' });
    sent.length = 0;
    await queue.enqueueMany(database.db, tasks(10));
    await passes(300);
    expect(claims(sent)).toBe(0);
    await queue.resume(database.db, { kind: 'task' });
    await until(() => seen.completed.length === 10, { what: 'the jobs', timeoutMs: 1_000 });
  });
});

it('every one of many workers heeds it, and tells it once', async () => {
  const workers = await Promise.all(
    Array.from({ length: 12 }, () => listening({ queues: { default: 1, other: 1 } })),
  );
  const ran = () => workers.flatMap((each) => each.ran);
  await queue.enqueueMany(database.db, tasks(2_000));
  await until(() => ran().length > 100, { what: 'the load' });
  await queue.pause(database.db, { queue: 'default' });
  const paused = performance.now();
  await until(() => workers.every(({ seen }) => seen.paused.length), {
    what: 'all to know it',
    timeoutMs: 1_000,
  });
  await passes(3 * toldMs);
  expect(last(ran())).toBeLessThan(paused + toldMs);
  expect(ran().length).toBeLessThan(2_000);
  await queue.resume(database.db, { queue: 'default' });
  await until(() => ran().length === 2_000, { what: 'all jobs' });
  for (const { seen } of workers) {
    expect(seen).toMatchObject({
      paused: [{ queue: 'default' }],
      resumed: [{ queue: 'default' }],
      error: [],
    });
  }
});
