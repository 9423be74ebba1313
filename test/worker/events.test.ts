/**
 * Events: what they tell, and listeners that throw or reject, which the worker never feels.
 */
import { expect, expectTypeOf, it } from 'vitest';
import { createEvents, type JobInfo } from '../../src/worker/events.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask, taskWorker } = useWorkers(database);

it('a run is told from its claim to its end, without the payload', async () => {
  const { add, seen, worker } = await startTask(() => undefined);
  await until(() => seen.listening.length, { what: 'the worker to listen' });
  const id = await add(1);
  await until(() => seen.completed.length, { what: 'the end' });
  await worker.stop();

  const lockedBy = expect.stringMatching(new RegExp(`^${worker.name}/\\d+$`));
  const job = { id, queue: 'default', kind: 'task', attempt: 1, maxAttempts: 10, lockedBy };
  const durationMs = expect.any(Number);
  expect(seen).toEqual({
    started: [{ worker: worker.name }],
    problem: [],
    listening: [{ channel: expect.stringMatching(/^drizzle_queue_[0-9a-f]{16}$/) }],
    paused: [],
    resumed: [],
    claimed: [{ jobs: [job], durationMs }],
    completed: [{ job, durationMs }],
    failed: [],
    discarded: [],
    snoozed: [],
    released: [],
    rescued: [],
    lost: [],
    unknown: [],
    error: [],
    stopping: [{ running: 0 }],
    stopped: [{ unwritten: 0 }],
  });
});

it('a failure is told with the very error, and when the next attempt comes', async () => {
  const error = new Error('no luck');
  const { add, seen } = await startTask(
    () => {
      throw error;
    },
    { retry: () => 60_000 },
  );
  await add(1);
  await until(() => seen.failed.length, { what: 'the failure' });
  expect(seen.failed[0]?.error).toBe(error);
  expect(seen.failed[0]?.retryInMs).toBeCloseTo(60_000, -4);
});

it('listeners that throw or reject reach neither the loop nor each other, and are told as errors', async () => {
  const { add, seen, worker } = taskWorker(() => undefined);
  const heard: string[] = [];
  worker.on('claimed', () => {
    throw new Error('from claimed');
  });
  worker.on('claimed', () => void heard.push('claimed'));
  worker.on('completed', async () => {
    throw new Error('from completed');
  });
  worker.on('error', () => {
    throw new Error('from error');
  });
  worker.on('error', async () => {
    throw new Error('from error, later');
  });
  await worker.start();

  await add(1);
  await until(() => seen.completed.length, { what: 'the first job' });
  await add(2);
  await until(() => seen.error.length === 4, { what: 'four errors' });

  expect(heard).toEqual(['claimed', 'claimed']);
  expect(seen.completed).toHaveLength(2);
  expect(seen.error.map(({ error, during }) => `${during}: ${(error as Error).message}`).sort()).toEqual([
    'listener: from claimed',
    'listener: from claimed',
    'listener: from completed',
    'listener: from completed',
  ]);
});

it('a listener is called until it is taken back, also by itself', () => {
  const { on, emit } = createEvents();
  const heard: string[] = [];
  const off = on('started', ({ worker }) => {
    heard.push(`first ${worker}`);
    off();
  });
  on('started', ({ worker }) => void heard.push(`second ${worker}`));
  emit('started', { worker: 'a' });
  emit('started', { worker: 'b' });
  off();
  expect(heard).toEqual(['first a', 'second a', 'second b']);
});

it('events are typed by their name, and a wrong name is refused', () => {
  const { worker } = taskWorker(() => undefined);
  worker.on('failed', (event) => {
    expectTypeOf(event.job).toEqualTypeOf<JobInfo>();
    expectTypeOf(event.retryInMs).toEqualTypeOf<number>();
    expectTypeOf(event.error).toBeUnknown();
  });
  const misnamed = () => {
    // @ts-expect-error there is no such event
    worker.on('complete', () => {});
  };
  expect(misnamed).toThrow('`event`');
});
