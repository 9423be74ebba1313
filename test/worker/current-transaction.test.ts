/** A worker that is begun inside a current transaction: its handlers are in none, whatever the driver calls them from. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, createTransactions, defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker/worker.js';
import { useDatabase } from '../support/database.js';
import { connect, networkedDrivers } from '../support/drivers.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { watch } = useWorkers(database);
const registry = defineJobs({ first: job<{ n: number }>({ maxAttempts: 1 }), second: job<{ n: number }>() });
const queue = createQueue(registry);
const undo = new Error('undo it');
afterEach(async () => {
  await database.sql`truncate jobs`;
});

describe.each(networkedDrivers)('on %s', (driver) => {
  async function stage() {
    // New, so that its first connections are opened where the test says.
    const { db, end } = await connect(driver, database.url);
    const app = createTransactions(db, queue);
    const loose = createTransactions(database.db, queue, { requireTransaction: false });
    const ofApp = new AsyncLocalStorage<string>();
    const found: unknown[] = [];
    const make = (pollIntervalMs: number) => {
      const worker = createWorker({
        db,
        registry,
        queues: { default: 2 },
        kinds: ['first'],
        pollIntervalMs,
        log: false,
        handlers: {
          first: async ({ n }) => {
            found.push([loose.current() === database.db, ofApp.getStore()]);
            await app.transaction(() => app.enqueue('second', { n }));
          },
        },
      });
      return { worker, seen: watch(worker) };
    };
    const seconds = async () => {
      const rows = await database.sql<{ n: number }[]>`
        select (payload->>'n')::int as n from jobs where kind = 'second' order by id`;
      return rows.map(({ n }) => n);
    };
    return { db, end, app, loose, ofApp, found, make, seconds };
  }

  it('runOnce: what its handlers commit stands, though the transaction around it is rolled back', async () => {
    const { end, app, loose, ofApp, found, make, seconds } = await stage();
    try {
      await queue.enqueue(database.db, 'first', { n: 1 });
      const undone = loose.transaction(() =>
        app.transaction(async () => {
          const { worker } = make(1_000);
          expect(await ofApp.run('kept', () => worker.runOnce())).toMatchObject({ completed: 1 });
          throw undo;
        }),
      );
      await expect(undone).rejects.toBe(undo);
      expect(await seconds()).toEqual([1]);
      expect(found).toEqual([[true, 'kept']]);
    } finally {
      await end();
    }
  });

  it.each([
    ['by a poll', 20],
    ['by a wake-up', 60_000],
  ])(
    'start: jobs that come after the transaction has ended, %s, run in none',
    async (_how, pollIntervalMs) => {
      const { end, app, loose, ofApp, found, make, seconds } = await stage();
      let worker: ReturnType<typeof make>['worker'] | undefined;
      try {
        const seen = await loose.transaction(() =>
          app.transaction(async () => {
            const made = make(pollIntervalMs);
            worker = made.worker;
            await ofApp.run('kept', () => made.worker.start());
            await queue.enqueue(database.db, 'first', { n: 1 });
            await until(() => made.seen.completed.length === 1, { what: 'a run inside' });
            if (pollIntervalMs > 1_000) await until(() => made.seen.listening.length, { what: 'wake-ups' });
            return made.seen;
          }),
        );
        for (const n of [2, 3]) {
          await queue.enqueue(database.db, 'first', { n });
          await until(() => seen.completed.length + seen.discarded.length === n, { what: `run ${n}` });
        }
        expect(seen.discarded).toEqual([]);
        expect(await seconds()).toEqual([1, 2, 3]);
        expect(found).toEqual([1, 2, 3].map(() => [true, 'kept']));
      } finally {
        await worker?.stop({ graceMs: 0 });
        await end();
      }
    },
  );
});
