/**
 * Heartbeats keep a worker's jobs, and jobs of workers without them are rescued.
 */
import { beforeAll, expect, it } from 'vitest';
import { createQueue } from '../../src/queue/queue.js';
import { job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import { rescue } from '../../src/sql/rescue.js';
import { databaseTimeS } from '../../src/sql/session.js';
import { createWorker } from '../../src/worker/worker.js';
import { useDatabase } from '../support/database.js';
import { fill, given, row, table, untilServerHasRunFor, verbatim } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask, watch } = useWorkers(database);

beforeAll(() => untilServerHasRunFor(database.sql, 2));

it('a job that runs longer than its rescue limit is not rescued', async () => {
  const go = createGate();
  const { add, seen } = await startTask(() => go.passed, { rescueAfterMs: 1_000 });
  const id = await add(1);
  await until(() => seen.claimed.length, { what: 'the claim' });
  const other = await startTask(() => undefined, { rescueAfterMs: 1_000 });
  const renewed = async () => {
    const [pulse] = await database.sql`
      select 1 from jobs where id = ${id} and heartbeat_at > started_at + interval '1.5 seconds'`;
    return pulse;
  };

  await until(renewed, { what: 'heartbeats for longer than the rescue limit' });
  go.open();
  await until(() => seen.completed.length + other.seen.completed.length, { what: 'the end' });

  expect([...seen.rescued, ...other.seen.rescued, ...seen.lost, ...other.seen.lost]).toEqual([]);
});

const takeAway = {
  'rescued and claimed by another': (id: number) =>
    database.sql`update jobs set locked_by = 'another/1', attempts = attempts + 1 where id = ${id}`,
  'cancelled by a person': (id: number) => database.sql`
    update jobs set state = 'cancelled', locked_by = null, heartbeat_at = null, started_at = null, finished_at = now()
    where id = ${id}`,
  deleted: (id: number) => database.sql`delete from jobs where id = ${id}`,
};
it.each(Object.keys(takeAway) as (keyof typeof takeAway)[])(
  'a handler whose job was %s hears it from its signal, and its end is not written',
  async (how) => {
    const reasons: unknown[] = [];
    const resolved = createGate();
    const { add, seen, worker } = await startTask(
      (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            resolve();
            resolved.open();
          });
        }),
    );
    const id = await add(1);
    await until(() => seen.claimed.length, { what: 'the claim' });

    await takeAway[how](id);
    const before = await verbatim(database.sql, id);
    await resolved.passed;
    await worker.stop();

    expect(reasons).toMatchObject([{ code: 'JOB_LOST', data: { id } }]);
    expect(await verbatim(database.sql, id)).toBe(before);
    expect(seen).toMatchObject({ lost: [{ job: { id }, during: 'handler' }], completed: [], error: [] });
  },
);

it('the slot of a lost job is free again', async () => {
  const { add, seen } = await startTask(({ n }) => (n === 1 ? new Promise(() => {}) : undefined), {
    slots: 1,
  });
  const id = await add(1);
  await until(() => seen.claimed.length, { what: 'the claim' });
  await database.sql`delete from jobs where id = ${id}`;
  await add(2);
  await until(() => seen.completed.length, { what: 'the next job' });
});

it('dead jobs are rescued whatever their queue and kind, with the limit of their row', async () => {
  const { running } = given(database.sql);
  const [again, over, alive] = await Promise.all([
    running({ queue: 'elsewhere', kind: 'unheard of', heartbeatAgoS: 61, timeoutS: 1, attempts: 2 }),
    running({ heartbeatAgoS: 61, timeoutS: 1, attempts: 10 }),
    running({ heartbeatAgoS: 61, timeoutS: 3_600, lockedBy: 'slow/1' }),
  ]);
  const { seen } = await startTask(() => undefined);
  await until(() => seen.rescued.length === 2, { what: 'both rescues' });

  expect(await row(database.sql, again)).toMatchObject({ state: 'available', attempts: 2 });
  expect(await row(database.sql, over)).toMatchObject({ state: 'discarded', attempts: 10 });
  expect(await row(database.sql, alive)).toMatchObject({ state: 'running', lockedBy: 'slow/1' });
});

it('a long list of dead jobs is rescued by two workers without a job told of twice', async () => {
  await fill(database.sql).running(1_200, { heartbeatAgoS: 3_600, timeoutS: 1, kind: 'unheard of' });
  const [one, two] = [await startTask(() => undefined), await startTask(() => undefined)];
  const rescued = () => [...one.seen.rescued, ...two.seen.rescued].map(({ id }) => id);
  await until(() => rescued().length >= 1_200, { what: 'all rescues' });
  expect(new Set(rescued()).size).toBe(1_200);
  expect(rescued()).toHaveLength(1_200);
});

it('a rescue that reaches the database after its time does nothing', async () => {
  const id = await given(database.sql).running({ heartbeatAgoS: 3_600, timeoutS: 1 });
  const now = await databaseTimeS(database.db);
  expect(await rescue(database.db, table, { notAfterS: now - 1 })).toEqual([]);
  expect(await rescue(database.db, table, { notAfterS: now + 60 })).toMatchObject([{ id }]);
});

it('kinds without a handler are left alone: not claimed, no attempt used', async () => {
  const registry = defineJobs({ known: job(), other: job() });
  const { enqueue } = createQueue(registry);
  const left = [
    await given(database.sql).available({ kind: 'of another release', priority: 5 }),
    (await enqueue(database.db, 'other', undefined, { priority: 5 })).id,
  ];
  const before = await Promise.all(left.map((id) => verbatim(database.sql, id)));
  const worker = createWorker({
    db: database.db,
    registry,
    queues: { default: 1 },
    kinds: ['known'],
    handlers: { known: () => undefined },
    pollIntervalMs: 20,
    log: false,
  });
  const seen = watch(worker);
  await worker.start();
  await enqueue(database.db, 'known');
  await enqueue(database.db, 'known');
  await until(() => seen.completed.length === 2, { what: 'both jobs behind them' });

  expect(await Promise.all(left.map((id) => verbatim(database.sql, id)))).toEqual(before);
});
