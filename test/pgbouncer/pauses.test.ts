/** Pauses behind a pooler: made through it, heard of over a connection straight to Postgres, or found by looking. */
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import { until } from '../support/until.js';
import { useWorkers } from '../worker/stage.js';
import { clients, usePooler } from './stage.js';

const used = usePooler({ poolSize: 3 });
const { watch } = useWorkers(used.direct);
const registry = defineJobs({ task: job(), other: job().queue('other') });
const queue = createQueue(registry);
const what = { queue: 'default' } as const;

afterEach(() => used.direct.sql`truncate job_limits`);

describe.each(clients)('on %s', (client) => {
  it.each([
    { way: 'with `directDb`', direct: true, withinMs: 1_000 },
    { way: 'by looking', direct: false, withinMs: 3_000 },
  ])('a worker heeds them $way', async ({ direct, withinMs }) => {
    const db = used.db(client);
    const worker = createWorker({
      db,
      directDb: direct ? used.direct.db : undefined,
      registry,
      queues: { default: 5, other: 5 },
      handlers: { task: () => {}, other: () => {} },
      pollIntervalMs: 200,
      log: false,
    });
    const seen = watch(worker);
    await worker.start();
    await until(() => (direct ? seen.listening.length : seen.problem.length), { what: 'its start' });
    await queue.enqueue(db, 'task');
    await until(() => seen.completed.length === 1, { what: 'a job before' });
    await db.transaction((tx) => queue.pause(tx, what));
    await until(() => seen.paused.length, { what: 'the pause', timeoutMs: withinMs });
    await queue.enqueue(db, 'task');
    await queue.enqueue(db, 'other');
    await until(() => seen.completed.length === 2, { what: 'the job of the other queue' });
    expect(seen.completed[1]?.job.kind).toBe('other');
    expect(await queue.resume(db, what)).toEqual({ result: 'done' });
    await until(() => seen.completed.length === 3, { what: 'the job that was paused', timeoutMs: withinMs });
    expect(seen).toMatchObject({ paused: [what], resumed: [what], error: [] });
  });
});
