/** At most one unfinished job of a key: skipped, or moved to when the calls have stopped coming. */
import { createQueue, defineJobs, job } from 'drizzle-queue';
import { createWorker } from 'drizzle-queue/worker';
import { openDatabase } from '../database.js';

const registry = defineJobs({
  importFeed: job<{ url: string }>({ dedupeKey: ({ url }) => url }),
  reindex: job<{ course: number; by: string }>({
    dedupeKey: ({ course }) => `course ${course}`,
    onDuplicate: 'debounce',
    maxWaitMs: 5_000, // however many edits come, it runs
  }),
});
const queue = createQueue(registry);
const db = await openDatabase();

const url = 'https://example.com/feed';
const first = await queue.enqueue(db, 'importFeed', { url });
const second = await queue.enqueue(db, 'importFeed', { url });
console.log(`the same job: ${first.id === second.id}, a duplicate: ${second.duplicate}`);

// Each edit moves the job, and the last one decides.
for (const by of ['ann', 'bob', 'cay']) {
  await queue.enqueue(db, 'reindex', { course: 1, by }, { delayMs: 300 });
}

const worker = createWorker({
  db,
  registry,
  queues: { default: 5 },
  log: false,
  handlers: {
    importFeed: async ({ url }) => console.log(`import ${url}`),
    reindex: async ({ course, by }) => console.log(`reindex course ${course}, last edited by ${by}`),
  },
});
await new Promise<void>((resolve) => {
  worker.on('completed', ({ job }) => {
    if (job.kind === 'reindex') resolve();
  });
  void worker.start();
});

const third = await queue.enqueue(db, 'importFeed', { url }, { delayMs: 60_000 });
console.log(`after its end the key is free: ${!third.duplicate}`);
await worker.stop();
await db.$client.close();
