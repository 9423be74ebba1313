/**
 * `run()` in a process of its own: what signals do to it.
 */
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { createQueue } from '../../src/queue/queue.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { useProcesses } from '../support/worker-process.js';
import { registry } from './fixtures/task-registry.js';
import type { Message } from './fixtures/task-worker.js';

const database = useDatabase();
const processes = useProcesses();
const { enqueue } = createQueue(registry);

beforeAll(() => database.sql`create table ledger (job bigint, attempt int, pid int)`);
beforeEach(() => database.sql`truncate jobs, ledger`);

async function startWithOneJob() {
  const { id } = await enqueue(database.db, 'task', { n: 1, does: 'wait' });
  const child = processes.start<Message>('task-worker', { url: database.url });
  await child.message(({ event }) => event === 'handling', 'the job to be started');
  const heard = (event: Message['event']) => child.messages.filter((message) => message.event === event);
  return { id, child, heard };
}

it.each(['SIGTERM', 'SIGINT'] as const)(
  '%s: it drains, takes its listeners back, and the process exits with 0',
  async (signal) => {
    const { id, child, heard } = await startWithOneJob();
    expect(await child.message(({ event }) => event === 'listening', 'its listeners')).toMatchObject({
      signals: 2,
    });

    child.kill(signal);
    await child.message(({ event }) => event === 'stopping', 'the stop');
    expect(await row(database.sql, id)).toMatchObject({ state: 'running' });
    child.send('open');

    await expect(child.exit).resolves.toEqual({ code: 0, signal: null });
    expect(await row(database.sql, id)).toBeUndefined();
    expect(heard('completed')).toHaveLength(1);
    expect(heard('unlistened')).toHaveLength(1);
  },
);

it('a second signal ends the grace, and the job goes back', async () => {
  const { id, child } = await startWithOneJob();
  child.kill('SIGTERM');
  await child.message(({ event }) => event === 'stopping', 'the stop');

  const began = performance.now();
  child.kill('SIGINT');
  await expect(child.exit).resolves.toEqual({ code: 0, signal: null });

  expect(performance.now() - began).toBeLessThan(4_000); // the grace of the fixture is 5 s
  expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 1 });
});

it('the app’s own listener is called as well', async () => {
  const { child, heard } = await startWithOneJob();
  child.kill('SIGTERM');
  await child.message(({ event }) => event === 'stopping', 'the stop');
  await until(() => heard('signal').length, { what: 'the listener of the app' });
  child.send('open');
  await child.exit;
  expect(heard('signal')).toEqual([{ event: 'signal', name: 'SIGTERM' }]);
});
