/** A run that was asked for on another queue begins at once, and not when that queue's workers look next. */
import { describe, expect, it } from 'vitest';
import { createQueue } from '../../src/queue/queue.js';
import { job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import { createWorker } from '../../src/worker/worker.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { type TaskHandler, useWorkers } from './stage.js';

const database = useDatabase();
const { watch } = useWorkers(database);

const registry = defineJobs({
  task: job<{ n: number }>({ retry: () => 50 }),
  send: job().queue('mail'),
});
const queue = createQueue(registry);

const ends: Record<string, TaskHandler> = {
  'when the one under way has completed': () => {},
  'when it has completed in its own transaction': (_, run) =>
    database.db.transaction((tx) => run.complete(tx)),
  'when it has failed': () => {
    throw new Error('no luck');
  },
};

describe.each(Object.entries(ends))('%s', (_when, end) => {
  it('on a queue of the same worker', async () => {
    const { start, started, go, ran } = stage(end);
    await start('one', 'with mail');
    await started;
    await asksOnMail();
    go();
    await until(() => ran.length === 2, { what: 'the further run' });
    expect(ran).toEqual(['1 by one', '2 by one']);
  });

  it('on a queue that another worker serves', async () => {
    const { start, started, go, ran } = stage(end);
    await start('one', 'without mail');
    await started;
    await start('other', 'with mail');
    await asksOnMail();
    go();
    await until(() => ran.length === 2, { what: 'the further run' });
    expect(ran).toEqual(['1 by one', '2 by other']);
  });
});

/** As an enqueue does, but nobody is told of it. */
async function asksOnMail(): Promise<void> {
  await database.sql`update jobs set payload = '{"n": 2}', queue = 'mail', again = 'true'`;
}

/** Workers that would find by looking only what is due when they start. */
function stage(end: TaskHandler) {
  const [started, go] = [createGate(), createGate()];
  const ran: string[] = [];

  async function start(name: string, mail: 'with mail' | 'without mail'): Promise<void> {
    const task: TaskHandler = async (payload, run) => {
      ran.push(`${payload.n} by ${name}`);
      if (payload.n > 1) return;
      started.open();
      await go.passed;
      return end(payload, run);
    };
    const { db } = database;
    const options = { db, registry, handlers: { task }, pollIntervalMs: 600_000, log: false } as const;
    const worker =
      mail === 'with mail'
        ? createWorker({ ...options, kinds: ['task'], queues: { default: 1, mail: 1 } })
        : createWorker({ ...options, queues: { default: 1 } });
    const seen = watch(worker);
    await queue.enqueue(database.db, 'task', { n: 1 }, { dedupeKey: 'k' });
    await worker.start();
    await until(() => seen.listening.length, { what: 'the worker to be told of jobs' });
  }

  return { start, started: started.passed, go: go.open, ran };
}
