/** Jobs run the same however the app has set up its client: they get the payload that was stored, and events have the right ids. */
import { expect, it } from 'vitest';
import { createQueue, type Database, defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import type { Driver } from '../support/drivers.js';
import { until } from '../support/until.js';
import { settings } from './client-settings.js';
import * as reading from './reading-tests.js';
import type { UsedDriver } from './stage.js';

const payload = {
  snake_case: [{ inner_key: 1 }],
  'kebab-case': { Pascal: null },
  camelCase: '2027-01-01 00:00:00+00',
  big: 9_007_199_254_740_991,
};
type Greeting = { does: 'end' | 'fail once' | 'complete' | 'snooze once'; payload: typeof payload };
const registry = defineJobs({ greet: job<Greeting>({ retry: () => 0 }) });
const queue = createQueue(registry);

export function clientSettingsTests(driver: Driver, used: UsedDriver): void {
  it.each(Object.entries(settings[driver]))('%s', async (_name, connect) => {
    const { db, end } = await connect(used.url);
    try {
      await runsJobs(db);
      await readsJobs(db);
    } finally {
      await end();
    }
  });
}

/** What is read has the stored keys, numbers and Dates, whatever the client makes of its own. */
async function readsJobs(db: Database): Promise<void> {
  const letter = { to: 'you', snake_case: { inner_key: 1 } };
  const runAt = new Date('2999-01-01T00:00:00.123Z');
  const { id } = await reading.queue.enqueue(db, 'letter', letter, { runAt });
  const { id: counted } = await reading.queue.enqueue(db, 'count', { n: 4 });
  await reading.withCounter(db, async () => {
    expect(await reading.queue.wait(db, 'count', counted)).toEqual({ twice: 8 });
  });
  expect(await reading.queue.get(db, id)).toMatchObject({ id, payload: letter, runAt, priority: 0 });
  const { jobs, next } = await reading.queue.list(db, { limit: 1 });
  expect([jobs, next]).toMatchObject([[{ id: counted, result: { twice: 8 } }], counted]);
  expect(await reading.queue.counts(db, { kind: 'letter' })).toMatchObject([
    { scheduled: 1, oldestDueAt: null },
  ]);
  const { id: dead } = await reading.queue.enqueue(db, 'letter', letter);
  await reading.withCounter(db, () =>
    until(async () => (await reading.queue.get(db, dead))?.state === 'discarded', { what: 'the discard' }),
  );
  expect(await reading.queue.deadLetters(db)).toEqual([
    {
      kind: 'letter',
      error: 'Discard: there is no you',
      count: 1,
      firstAt: expect.any(Date),
      lastAt: expect.any(Date),
      ids: [dead],
    },
  ]);
}

/** Jobs of every end, by every way to enqueue; their handlers get what was stored, and ids and events are right. */
async function runsJobs(db: Database): Promise<void> {
  const got: unknown[] = [];
  const worker = workerOf(db, got);
  const ends: string[] = [];
  const errors: unknown[] = [];
  for (const name of ['completed', 'failed', 'snoozed'] as const) {
    worker.on(name, ({ job }) => ends.push(`${job.id} ${name} ${job.attempt}`));
  }
  worker.on('error', ({ error }) => errors.push(error));
  const { id: first } = await queue.enqueue(db, 'greet', { does: 'end', payload });
  const { id: second } = await queue.enqueue(db, 'greet', { does: 'fail once', payload }, { delayMs: 1 });
  const runAt = '2001-01-01T00:00:00Z';
  const list = ['complete', 'snooze once'] as const;
  const [third, fourth] = await db.transaction((tx) =>
    queue.enqueueMany(
      tx,
      list.map((does) => ({ kind: 'greet', payload: { does, payload }, runAt })),
    ),
  );
  await worker.start();
  try {
    await until(() => ends.length === 6, { what: `six ends; ${ends}; ${errors.map(String)}` });
  } finally {
    await worker.stop({ graceMs: 0 });
  }
  expect(errors).toEqual([]);
  expect(ends.sort()).toEqual(
    [
      `${first} completed 1`,
      `${second} completed 2`,
      `${second} failed 1`,
      `${third?.id} completed 1`,
      `${fourth?.id} completed 1`,
      `${fourth?.id} snoozed 1`,
    ].sort(),
  );
  expect(got).toEqual(Array(6).fill(payload));
}

/** `got` is what the handlers were given. */
function workerOf(db: Database, got: unknown[]) {
  let snoozed = false;
  return createWorker({
    db,
    registry,
    queues: { default: 2 },
    handlers: {
      greet: async ({ does, payload }, job) => {
        got.push(payload);
        if (does === 'fail once' && job.attempt === 1) throw new Error('no luck');
        if (does === 'complete') await db.transaction((tx) => job.complete(tx));
        if (does === 'snooze once' && !snoozed) {
          snoozed = true;
          job.snooze({ runAt: '2000-01-01T00:00:00Z' });
        }
      },
    },
    pollIntervalMs: 20,
    heartbeatMs: 100,
    log: false,
  });
}
