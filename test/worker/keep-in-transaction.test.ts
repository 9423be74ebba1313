/** `job.complete(tx, result)` of kinds that keep their rows: writes, end and result commit together, or not at all. */
import { sql } from 'drizzle-orm';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { Transaction } from '../../src/database/executor.js';
import { createQueue } from '../../src/queue/queue.js';
import type { JobContext, Settled } from '../../src/registry/handlers.js';
import { type JobOptions, job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import { createWorker } from '../../src/worker/worker.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { watch } = useWorkers(database);

interface Result {
  readonly attempt: number;
}
type Context = JobContext<'keeps', Result>;

beforeAll(() => database.sql`create table effects (n int)`);
beforeEach(() => database.sql`truncate effects`);
const effects = async () => (await database.sql`select n from effects order by n`).map(({ n }) => n);

async function start(
  handler: (job: Context) => Promise<Result | Settled>,
  options: JobOptions<void> & { readonly heartbeatMs?: number } = {},
) {
  const { heartbeatMs = 100, ...kind } = options;
  const registry = defineJobs({ keeps: job<void, Result>(kind).onComplete('keep') });
  const worker = createWorker({
    db: database.db,
    registry,
    queues: { default: 10 },
    handlers: { keeps: (_, job) => handler(job) },
    heartbeatMs,
    pollIntervalMs: 20,
    log: false,
  });
  const seen = watch(worker);
  await worker.start();
  const queue = createQueue(registry);
  return { seen, worker, add: async () => (await queue.enqueue(database.db, 'keeps')).id };
}

/** Writes the attempt and completes the job with it. */
function completing(job: Context, then: (tx: Transaction) => Promise<void> = async () => {}) {
  return database.db.transaction(async (tx) => {
    await tx.execute(sql`insert into effects values (${job.attempt}::int)`);
    const settled = await job.complete(tx, { attempt: job.attempt });
    await then(tx);
    return settled;
  });
}

it('commits the writes, the end and the result together', async () => {
  const [inside, go] = [createGate(), createGate()];
  const { add, seen } = await start((job) =>
    completing(job, async () => {
      inside.open();
      await go.passed;
    }),
  );
  const id = await add();
  await inside.passed;
  expect(await row(database.sql, id)).toMatchObject({ state: 'running', result: null });
  go.open();
  await until(() => seen.completed.length, { what: 'the end' });
  expect(await row(database.sql, id)).toMatchObject({ state: 'completed', result: { attempt: 1 } });
  expect(await effects()).toEqual([1]);
  expect(seen).toMatchObject({ lost: [], unknown: [], failed: [], error: [] });
});

it('leaves neither when the transaction is rolled back, though the handler resolves', async () => {
  const { add, seen } = await start(async (job) => {
    const rolledBack = completing(job, async () => {
      throw new Error('changed my mind');
    });
    await rolledBack.catch(() => {});
    return { attempt: -1 }; // not what counts: the transaction that was to end the job did not
  });
  const id = await add();
  await until(() => seen.failed.length, { what: 'the failure' });
  expect(seen.failed[0]?.error).toMatchObject({ code: 'JOB_ROLLED_BACK' });
  expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 1, result: null });
  expect(await effects()).toEqual([]);
});

it('has the result of the try that committed', async () => {
  const { add, seen } = await start(
    async (job) => {
      if (job.attempt === 1)
        return completing(job, async () => {
          throw new Error('no luck');
        });
      return completing(job);
    },
    { retry: () => 0 },
  );
  const id = await add();
  await until(() => seen.completed.length, { what: 'the end' });
  expect(await row(database.sql, id)).toMatchObject({ state: 'completed', result: { attempt: 2 } });
  expect(await effects()).toEqual([2]);
});

it('rejects with JOB_LOST, and writes nothing, when the job is not this run’s any more', async () => {
  const codes: unknown[] = [];
  const { add, seen } = await start(
    async (job) => {
      await database.sql`update jobs set locked_by = 'another/1' where id = ${job.id}`;
      return completing(job).catch((error: { code?: unknown }) => {
        codes.push(error.code);
        throw error;
      });
    },
    { heartbeatMs: 10_000 },
  );
  const id = await add();
  await until(() => seen.lost.length, { what: 'the loss' });
  expect(codes).toEqual(['JOB_LOST']);
  expect(await row(database.sql, id)).toMatchObject({
    state: 'running',
    lockedBy: 'another/1',
    result: null,
  });
  expect(await effects()).toEqual([]);
});

it('refuses a result that cannot be stored before any SQL, so that the transaction can complete with another', async () => {
  const codes: unknown[] = [];
  const { add, seen } = await start((job) =>
    database.db.transaction(async (tx) => {
      const refused: Promise<unknown> = Reflect.apply(job.complete, undefined, [tx, { attempt: 1n }]);
      await refused.catch((error: { code?: unknown }) => codes.push(error.code));
      return job.complete(tx, { attempt: 7 });
    }),
  );
  const id = await add();
  await until(() => seen.completed.length, { what: 'the end' });
  expect(codes).toEqual(['INVALID_RESULT']);
  expect(await row(database.sql, id)).toMatchObject({ state: 'completed', result: { attempt: 7 } });
});

it('lets the handler go on after the commit, without telling it that its job is lost', async () => {
  const [committed, go] = [createGate(), createGate()];
  const signals: AbortSignal[] = [];
  const { add, seen } = await start(async (job) => {
    signals.push(job.signal);
    const settled = signals.length === 1 ? await completing(job) : undefined;
    committed.open();
    await go.passed;
    return settled ?? { attempt: job.attempt };
  });
  const id = await add();
  await committed.passed;
  const other = await add();
  const beaten = async () => {
    const [pulse] = await database.sql`
      select 1 from jobs where id = ${other} and heartbeat_at > started_at + interval '0.3 seconds'`;
    return pulse;
  };
  await until(beaten, { what: 'heartbeats of the worker' });
  expect(await row(database.sql, id)).toMatchObject({ state: 'completed' });
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
  go.open();
  await until(() => seen.completed.length === 2, { what: 'both ends' });
  expect(seen).toMatchObject({ lost: [], unknown: [], failed: [], error: [] });
});

it('has completed the job when it commits after the time limit', async () => {
  const [inside, timeIsUp, go] = [createGate(), createGate(), createGate()];
  const { add, seen } = await start(
    (job) => {
      job.signal.addEventListener('abort', () => timeIsUp.open());
      return completing(job, async () => {
        inside.open();
        await go.passed;
      });
    },
    { timeoutMs: 1_000 },
  );
  const id = await add();
  await Promise.all([inside.passed, timeIsUp.passed]);
  expect(await row(database.sql, id)).toMatchObject({ state: 'running' });
  go.open();
  await until(() => seen.completed.length + seen.failed.length, { what: 'the end' });
  expect(await row(database.sql, id)).toMatchObject({ state: 'completed', result: { attempt: 1 } });
  expect(seen).toMatchObject({ failed: [], lost: [], unknown: [] });
});
