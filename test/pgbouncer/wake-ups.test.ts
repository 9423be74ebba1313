/**
 * New jobs behind a pooler: enqueues tell of them through it; a worker hears them over a connection straight to Postgres, or
 * says that it cannot, and finds them by looking.
 */
import { describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import { until } from '../support/until.js';
import { useWorkers } from '../worker/stage.js';
import { clients, usePooler } from './stage.js';

const used = usePooler({ poolSize: 3 });
const { watch } = useWorkers(used.direct);
const registry = defineJobs({ task: job<{ n: number }>() });
const queue = createQueue(registry);

/** The locks of workers that Postgres knows of. */
const locks = () => used.direct.sql`
  select pid from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock'
  and database = (select oid from pg_database where datname = current_database())`;

function workerOn(client: (typeof clients)[number], options: { pollIntervalMs: number; direct: boolean }) {
  const worker = createWorker({
    db: used.db(client),
    directDb: options.direct ? used.direct.db : undefined,
    registry,
    queues: { default: 5 },
    handlers: { task: () => {} },
    pollIntervalMs: options.pollIntervalMs,
    log: false,
  });
  return { worker, seen: watch(worker) };
}

describe.each(clients)('on %s', (client) => {
  it('with `directDb` a job starts at its commit, through the pooler', async () => {
    const { worker, seen } = workerOn(client, { pollIntervalMs: 60_000, direct: true });
    await worker.start();
    await until(() => seen.listening.length, { what: 'the worker to listen' });
    expect(await locks()).toHaveLength(1);
    const db = used.db(client);
    await db.transaction((tx) => queue.enqueue(tx, 'task', { n: 1 }));
    await until(() => seen.completed.length === 1, { what: 'the job', timeoutMs: 5_000 });
    await queue.enqueueMany(db, [{ kind: 'task', payload: { n: 2 } }]);
    await until(() => seen.completed.length === 2, { what: 'the other job', timeoutMs: 5_000 });
    expect(seen).toMatchObject({ problem: [], error: [] });
  });

  it('without it the worker says so once, and finds the job by looking', async () => {
    const { worker, seen } = workerOn(client, { pollIntervalMs: 50, direct: false });
    await worker.start();
    await until(() => seen.problem.length, { what: 'the problem' });
    expect(seen.problem).toMatchObject([{ code: 'NOT_LISTENING', severity: 'warning' }]);
    expect(seen.problem[0]?.message).toContain('directDb');
    await used.db(client).transaction((tx) => queue.enqueue(tx, 'task', { n: 1 }));
    await until(() => seen.completed.length, { what: 'the job' });
    expect(seen.listening).toEqual([]);
    await until(async () => (await locks()).length === 0, {
      what: 'no lock, once that of the last test is gone',
    });
  });
});
