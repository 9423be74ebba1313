/** `onDuplicate: 'again'` against workers that finish: after the last enqueue of a key a run of it begins, and never two at once. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { createWorker, type Worker } from '../../src/worker.js';
import { withClients } from '../support/clients.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';

const database = useDatabase();
const registry = defineJobs({
  reindex: job<{ course: number; n: number }>({
    dedupeKey: ({ course }) => `course ${course}`,
    onDuplicate: 'again',
    maxAttempts: 2,
    retry: () => 1,
  }),
});
const queue = createQueue(registry);

let workers: Worker[] = [];
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  workers = [];
  await database.sql`truncate jobs`;
});

/** What a run does beside taking its time. */
type End = 'completes' | 'completes in its own transaction' | 'fails' | 'is discarded' | 'ends in any way';
const ends = ['completes', 'completes in its own transaction', 'fails', 'is discarded'] as const;
const clients = 8;
const courses = 12;

describe.each<End>(['completes', 'completes in its own transaction', 'is discarded', 'ends in any way'])(
  'eight clients, while each run %s',
  (end) => {
    it('the last enqueue of each key is followed by a run that knows of it, alone', async () => {
      /** By course: how many ran at once, and what each run began with, in order. */
      const at = new Map<number, number>();
      const began = new Map<number, number[]>();
      const overlaps: number[] = [];
      const discarded = new Set<number>();
      let turn = 0;
      workers = [1, 2].map(() =>
        createWorker({
          db: database.db,
          registry,
          queues: { default: 20 },
          log: false,
          handlers: {
            reindex: async ({ course, n }, job) => {
              const how = end === 'ends in any way' ? (ends[turn++ % ends.length] ?? 'completes') : end;
              if ((at.get(course) ?? 0) > 0) overlaps.push(course);
              at.set(course, (at.get(course) ?? 0) + 1);
              began.set(course, [...(began.get(course) ?? []), n]);
              await delay(2);
              const over = () => at.set(course, (at.get(course) ?? 0) - 1);
              if (how === 'completes in its own transaction')
                return database.db.transaction(async (tx) => {
                  await job.complete(tx);
                  over(); // from its commit on the next one may begin
                });
              over();
              if (how === 'fails') throw new Error('no luck');
              if (how === 'is discarded') return job.discard('pointless');
            },
          },
        }),
      );
      for (const worker of workers) worker.on('discarded', ({ job }) => discarded.add(job.id));
      await Promise.all(workers.map((worker) => worker.start()));
      let next = 0;
      const clientOf = new Map<number, number>();
      const last = new Map<number, number>();
      const answers = await withClients(database.url, clients, (dbs) =>
        Promise.all(
          dbs.map(async (db, client) => {
            const own: { id: number; duplicate: boolean }[] = [];
            for (let i = 0; i < 150; i++) {
              const course = (i * 5 + client * 7) % courses;
              const n = ++next;
              clientOf.set(n, client);
              own.push(await queue.enqueue(db, 'reindex', { course, n }));
            }
            return own;
          }),
        ),
      );
      // Once more by one client alone, so that it is known which of each course was the last.
      for (let course = 0; course < courses; course++) {
        const n = ++next;
        answers.push([await queue.enqueue(database.db, 'reindex', { course, n })]);
        last.set(course, n);
      }
      await until(
        async () =>
          (await database.sql`select 1 from jobs where state in ('available', 'running')`).length === 0,
        { what: 'all runs to end', timeoutMs: 30_000 },
      );
      expect(answers.flat()).toHaveLength(clients * 150 + courses);
      for (const [course, n] of last) expect(began.get(course)?.at(-1)).toBe(n);
      // Nor has any run gone back behind what its client had asked for later.
      for (const list of began.values()) {
        for (let client = 0; client < clients; client++) {
          const own = list.filter((n) => clientOf.get(n) === client);
          expect(own).toEqual([...own].sort((a, b) => a - b));
        }
      }
      expect(overlaps).toEqual([]);
      // Fewer runs than enqueues: that is what the key is for.
      const runs = [...began.values()].reduce((sum, list) => sum + list.length, 0);
      expect(runs).toBeLessThan(clients * 150);
      if (end === 'is discarded') expect(discarded.size).toBeGreaterThan(0);
    }, 120_000);
  },
);

it('half of which roll back: what they asked for never runs, and what the others asked for does', async () => {
  const ran = new Set<number>();
  workers = [
    createWorker({
      db: database.db,
      registry,
      queues: { default: 5 },
      log: false,
      handlers: {
        reindex: async ({ n }) => {
          ran.add(n);
          await delay(1);
        },
      },
    }),
  ];
  await workers[0]?.start();
  const committed: number[] = [];
  await withClients(database.url, clients, (dbs) =>
    Promise.all(
      dbs.map(async (db, client) => {
        for (let i = 0; i < 60; i++) {
          const n = client * 1_000 + i + 1;
          const kept = (i + client) % 2 === 0;
          await db
            .transaction(async (tx) => {
              await queue.enqueue(tx, 'reindex', { course: i % 2, n });
              if (!kept) throw new Error('no');
              committed.push(n);
            })
            .catch((error: Error) => {
              if (error.message !== 'no') throw error;
            });
        }
      }),
    ),
  );
  await until(async () => (await database.sql`select 1 from jobs`).length === 0, {
    what: 'all runs to end',
    timeoutMs: 30_000,
  });
  const kept = new Set(committed);
  expect([...ran].filter((n) => !kept.has(n))).toEqual([]);
  expect(ran.size).toBeGreaterThan(1);
});
