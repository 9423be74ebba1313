/** The whole way with three roles and row-level security: one enqueues, one works, one looks, and nobody lacks anything. */
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createQueue } from '../../src/queue/queue.js';
import { createWorker, type Worker } from '../../src/worker/worker.js';
import { until } from '../support/until.js';
import { registry } from './moves.js';
import { readmeSql, titles } from './readme.js';
import { useRoles } from './stage.js';

describe.each(['public', 'work'])('with the table in the schema %s', (schema) => {
  const roles = useRoles(schema);
  let worker: Worker | undefined;
  beforeAll(async () => {
    for (const title of [...Object.values(titles), 'row-level security']) await roles.run(readmeSql(title));
  });
  afterAll(() => worker?.stop({ graceMs: 0 }));

  it('a job goes from the app to the worker and to the status page', async () => {
    const { enqueue, tables } = createQueue(registry, { tables: roles.tables, requireTransaction: true });
    const ran: string[] = [];
    worker = createWorker({
      db: roles.as('worker'),
      registry,
      tables,
      queues: { default: 2 },
      handlers: {
        greet: ({ tenant }, job) => {
          ran.push(tenant);
          if (tenant === 'b') job.discard('no such tenant');
        },
      },
      heartbeatMs: 100,
      pollIntervalMs: 20,
      log: false,
    });
    const wrong: unknown[] = [];
    worker.on('error', (event) => wrong.push(event));
    worker.on('problem', (problem) => {
      if (problem.code === 'RIGHT_MISSING' || problem.code === 'POLICY_MISSING') wrong.push(problem);
    });
    await worker.start();

    const app = roles.as('enqueuer');
    const done = await app.transaction((tx) => enqueue(tx, 'greet', { tenant: 'a' }));
    const bad = await app.transaction((tx) => enqueue(tx, 'greet', { tenant: 'b' }));

    const { jobs } = tables;
    const page = roles.as('reader');
    const status = () => page.select({ id: jobs.id, state: jobs.state, why: jobs.lastError }).from(jobs);
    await until(async () => (await status()).every(({ state }) => state === 'discarded'), {
      what: 'both ends',
    });
    expect(await status()).toEqual([{ id: bad.id, state: 'discarded', why: 'Discard: no such tenant' }]);
    expect(await page.select().from(jobs).where(eq(jobs.id, done.id))).toEqual([]);
    expect(ran.sort()).toEqual(['a', 'b']);
    expect(wrong).toEqual([]);
  });
});
