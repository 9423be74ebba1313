/** Jobs that are to run once more, in a worker: each run's event says how it ended, and the next one begins at once. */
import { expect, it } from 'vitest';
import { createQueue } from '../../src/queue/queue.js';
import { job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import { cancel } from '../../src/sql/cancel.js';
import { createEvents } from '../../src/worker/events.js';
import { createFinisher } from '../../src/worker/finisher.js';
import { createStatements } from '../../src/worker/statements.js';
import { createWorker } from '../../src/worker/worker.js';
import { useDatabase } from '../support/database.js';
import { given, row, table } from '../support/jobs.js';
import { until } from '../support/until.js';
import { useProcesses } from '../support/worker-process.js';
import { registry as processRegistry } from './fixtures/task-registry.js';
import type { Message } from './fixtures/task-worker.js';
import { createGate } from './gate.js';
import { type TaskHandler, useWorkers } from './stage.js';

const database = useDatabase();
const { startTask, taskWorker, watch } = useWorkers(database);
const processes = useProcesses();

/** Long enough that a further run which begins in time was not found by polling. */
const pollIntervalMs = 20_000;
const key = { dedupeKey: 'k', onDuplicate: 'again' } as const;

/** Runs 1 as said, while which 2 is asked for; gives what the worker told, and what ran. */
async function askedWhile(first: TaskHandler, options: { maxAttempts?: number } = {}) {
  const [started, go] = [createGate(), createGate()];
  const ran: { n: number; attempt: number }[] = [];
  const { add, seen } = await startTask(
    async (payload, job) => {
      ran.push({ n: payload.n, attempt: job.attempt });
      if (payload.n > 1) return;
      started.open();
      await go.passed;
      return first(payload, job);
    },
    { pollIntervalMs, ...options },
  );
  const id = await add(1, key);
  await started.passed;
  expect(await add(2, key)).toBe(id);
  go.open();
  await until(() => seen.completed.length > 0 && ran.some(({ n }) => n === 2), { what: 'the further run' });
  await until(async () => (await row(database.sql, id)) === undefined, { what: 'its end' });
  return { id, seen, ran };
}

const twice = [
  { n: 1, attempt: 1 },
  { n: 2, attempt: 1 },
];

it('that completes', async () => {
  const { id, seen, ran } = await askedWhile(() => {});
  expect(ran).toEqual(twice);
  expect(seen.completed.map(({ job }) => job.id)).toEqual([id, id]);
  expect(new Set(seen.completed.map(({ job }) => job.lockedBy)).size).toBe(2);
  expect(seen).toMatchObject({ failed: [], discarded: [], lost: [], unknown: [], error: [] });
});

it('that completes in its own transaction, and goes on while the next one runs', async () => {
  const [started, go, second, ended] = [createGate(), createGate(), createGate(), createGate()];
  let aborted: boolean | undefined;
  const ran: { n: number; attempt: number }[] = [];
  const { add, seen } = await startTask(async ({ n }, job) => {
    ran.push({ n, attempt: job.attempt });
    if (n > 1) {
      second.open();
      return ended.passed;
    }
    started.open();
    await go.passed;
    await database.db.transaction((tx) => job.complete(tx));
    await second.passed;
    // The row runs under another claim: its heartbeats must not take that for a loss.
    const before = await heartbeatOf(job.id);
    await until(async () => (await heartbeatOf(job.id)) > before, { what: 'a heartbeat' });
    await until(async () => (await heartbeatOf(job.id)) > before + 150, { what: 'another one' });
    aborted = job.signal.aborted;
  });
  const id = await add(1, key);
  await started.passed;
  await add(2, key);
  go.open();
  await until(() => seen.completed.length === 1, { what: 'the end of the first' });
  expect(seen.completed).toMatchObject([{ job: { id } }]);
  expect(await row(database.sql, id)).toMatchObject({ state: 'running', payload: { n: 2 }, again: null });
  ended.open();
  await until(() => seen.completed.length === 2, { what: 'the end of the second' });
  expect(aborted).toBe(false);
  expect(ran).toEqual(twice);
  expect(seen).toMatchObject({ failed: [], discarded: [], lost: [], unknown: [], error: [] });
});

const heartbeatOf = async (id: number) => (await row(database.sql, id))?.heartbeatAt?.getTime() ?? 0;

it('that has begun anew by its own transaction is looked for when its handler is done', async () => {
  const id = await given(database.sql).available({ kind: 'task', dedupeKey: 'k' });
  const statements = createStatements(database.db, { statementMs: 10_000, gapMs: 60_000 });
  const settled: unknown[] = [];
  const events = createEvents();
  const finisher = createFinisher(statements, table, events, ({ job }, next) =>
    settled.push({ id: job.id, ...next }),
  );
  const ends: unknown[] = [];
  events.on('completed', ({ job }) => ends.push(job.id));
  events.on('lost', ({ job }) => ends.push({ lost: job.id }));
  const claimed = {
    queue: 'default',
    kind: 'task',
    payload: {},
    attempt: 1,
    maxAttempts: 10,
    payloadVersion: 1,
  };
  const job = { ...claimed, id, lockedBy: 'w/1', timeoutMs: undefined, meta: undefined };
  for (const anewOn of ['mail', undefined])
    finisher.add({ job, durationMs: 1, completing: true, anewOn }, { move: 'complete' });
  await finisher.idle();
  expect(settled).toEqual([{ id, queue: 'mail', dueInMs: 0 }, { id }]);
  expect(ends).toEqual([id, { lost: id }]);
});

it('that completes in a transaction which is rolled back: the retry is the further run', async () => {
  const { id, seen, ran } = await askedWhile(async (_, job) => {
    await database.db
      .transaction(async (tx) => {
        await job.complete(tx);
        throw new Error('changed my mind');
      })
      .catch(() => {});
  });
  expect(ran).toEqual([
    { n: 1, attempt: 1 },
    { n: 2, attempt: 2 },
  ]);
  expect(seen.failed).toMatchObject([{ job: { id }, error: { code: 'JOB_ROLLED_BACK' } }]);
  expect(seen).toMatchObject({ discarded: [], lost: [], unknown: [], error: [] });
});

it('that is discarded', async () => {
  const { id, seen, ran } = await askedWhile((_, job) => job.discard('pointless'));
  expect(ran).toEqual(twice);
  expect(seen.discarded).toMatchObject([{ job: { id } }]);
  expect(seen).toMatchObject({ failed: [], lost: [], unknown: [], error: [] });
});

it('that fails for the last time', async () => {
  const { id, seen, ran } = await askedWhile(
    () => {
      throw new Error('no luck');
    },
    { maxAttempts: 1 },
  );
  expect(ran).toEqual(twice);
  expect(seen.discarded).toMatchObject([{ job: { id } }]);
  expect(seen).toMatchObject({ failed: [], lost: [], unknown: [], error: [] });
});

it('that a person cancels: nothing runs any more', async () => {
  const [started, go] = [createGate(), createGate()];
  const { add, seen } = await startTask(async () => {
    started.open();
    await go.passed;
  });
  const id = await add(1, key);
  await started.passed;
  await add(2, key);
  await cancel(database.db, table, 'nobody_listens', [id]);
  await until(() => seen.lost.length, { what: 'the loss' });
  go.open();
  expect(seen.completed).toEqual([]);
  expect(await row(database.sql, id)).toMatchObject({ state: 'cancelled' });
});

it('that ends while an open transaction asks: the end is written after that, and it runs once more', async () => {
  const [started, go, asked, commit] = [createGate(), createGate(), createGate(), createGate()];
  const ran: number[] = [];
  const { add, seen } = await startTask(async ({ n }) => {
    ran.push(n);
    if (n > 1) return;
    started.open();
    await go.passed;
  });
  const id = await add(1, key);
  await started.passed;
  const asking = database.sql.begin(async (sql) => {
    await sql`update jobs set payload = '{"n": 2}', again = 'true' where id = ${id}`; // as the enqueue does
    asked.open();
    await commit.passed;
  });
  await asked.passed;
  go.open();
  await until(async () => (await waitingEnds()) > 0, { what: 'a try to write the end' });
  expect(seen.completed).toEqual([]);
  commit.open();
  await asking;
  await until(() => seen.completed.length === 2, { what: 'both ends' });
  expect(ran).toEqual([1, 2]);
  expect(seen).toMatchObject({ lost: [], unknown: [], failed: [], error: [] });
});

/** How often a complete has been sent: the statement is there in the sessions that have sent it last. */
async function waitingEnds(): Promise<number> {
  const found = await database.sql`
    select 1 from pg_stat_activity where datname = current_database() and query like '%delete from "public"."jobs"%'
                                         and pid <> pg_backend_pid()`;
  return found.length;
}

it('whose worker is dead: the rescue brings the further run', async () => {
  const dead = { lockedBy: 'gone/1', attempts: 10, timeoutS: 1, heartbeatAgoS: 3_600, again: true };
  const payload = { n: 2 };
  const id = await given(database.sql).running({ kind: 'task', dedupeKey: 'k', payload, ...dead });
  const ran: unknown[] = [];
  const { seen } = await startTask(({ n }, { attempt }) => void ran.push({ n, attempt }));
  await until(() => seen.completed.length, { what: 'the run', timeoutMs: 15_000 });
  expect(ran).toEqual([{ n: 2, attempt: 1 }]);
  expect(seen.rescued).toMatchObject([{ id, state: 'available' }]);
});

it.each([
  ['with attempts left', 3, 2],
  ['in its last attempt', 1, 1],
])('whose process is killed, %s', async (_, maxAttempts, attempt) => {
  const queue = createQueue(processRegistry);
  const { id } = await queue.enqueue(database.db, 'task', { n: 1, does: 'wait' }, { ...key, maxAttempts });
  const child = processes.start<Message>('task-worker', { url: database.url });
  await child.message((message) => message.event === 'handling', 'the job to be started');
  const asked = queue.enqueue(database.db, 'task', { n: 2, does: 'nothing' }, { ...key, maxAttempts });
  expect(await asked).toEqual({ id, duplicate: true });
  child.kill('SIGKILL');
  await child.exit;
  await database.sql`
    update jobs set heartbeat_at = heartbeat_at - interval '1 h', started_at = started_at - interval '1 h' where id = ${id}`;

  const ran: unknown[] = [];
  const { seen } = await startTask(({ n }, job) => void ran.push({ n, attempt: job.attempt }));
  await until(() => seen.completed.length, { what: 'the further run', timeoutMs: 20_000 });
  expect(ran).toEqual([{ n: 2, attempt }]);
  expect(seen.rescued).toMatchObject([{ id, state: 'available' }]);
  expect(await row(database.sql, id)).toBeUndefined();
});

it('in a single pass: the further run is part of it', async () => {
  const ran: number[] = [];
  const { worker, add } = taskWorker(async ({ n }) => {
    ran.push(n);
    if (n === 1) await add(2, key);
  });
  await add(1, key);
  await database.sql`
    insert into job_throttle (kind, key, until) values ('task', 'k', now() - interval '1 h')`;
  const { completed, more } = await worker.runOnce({ budgetMs: 10_000 });
  expect({ ran, completed, more }).toEqual({ ran: [1, 2], completed: 2, more: false });
  await until(async () => (await database.sql`select 1 from job_throttle`).length === 0, {
    what: 'what is over of throttles to go',
  });
});

it.each(['returns its result', 'completes in its transaction'])(
  'of a kind that keeps its rows, that %s: only the last run leaves a result',
  async (how) => {
    const registry = defineJobs({ sum: job<{ n: number }, number>().onComplete('keep') });
    const queue = createQueue(registry);
    const [started, go] = [createGate(), createGate()];
    const worker = createWorker({
      db: database.db,
      registry,
      queues: { default: 5 },
      pollIntervalMs,
      log: false,
      handlers: {
        sum: async ({ n }, job) => {
          if (n === 1) {
            started.open();
            await go.passed;
          }
          return how.startsWith('returns') ? n : database.db.transaction((tx) => job.complete(tx, n));
        },
      },
    });
    const seen = watch(worker);
    await worker.start();
    const { id } = await queue.enqueue(database.db, 'sum', { n: 1 }, key);
    await started.passed;
    expect(await queue.enqueue(database.db, 'sum', { n: 2 }, key)).toEqual({ id, duplicate: true });
    go.open();
    expect(await queue.wait(database.db, 'sum', id)).toBe(2);
    await until(() => seen.completed.length === 2, { what: 'both ends to be told' });
    expect(await row(database.sql, id)).toMatchObject({ state: 'completed', result: 2, again: null });
    expect(seen).toMatchObject({ failed: [], discarded: [], lost: [], unknown: [], error: [] });
  },
);
