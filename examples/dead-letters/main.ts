/** Jobs that used up their attempts stay, with their errors: looked at, mended and sent back. */
import { createQueue, defineJobs, job } from 'drizzle-queue';
import { createWorker, type Worker } from 'drizzle-queue/worker';
import { openDatabase } from '../database.js';

const registry = defineJobs({
  charge: job<{ invoice: number }>({ maxAttempts: 2, retry: () => 50 }),
});
const queue = createQueue(registry);
const db = await openDatabase();
let priceOfTheService = 'unknown';

function startWorker(): Worker {
  const worker = createWorker({
    db,
    registry,
    queues: { default: 5 },
    log: false,
    handlers: {
      charge: async ({ invoice }) => {
        if (priceOfTheService === 'unknown') throw new Error('there is no price');
        console.log(`charged invoice ${invoice}`);
      },
    },
  });
  void worker.start();
  return worker;
}

/** Resolves when so many of these events have come. */
function seen(worker: Worker, event: 'discarded' | 'completed', count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    worker.on(event, () => {
      if (--left === 0) resolve();
    });
  });
}

await queue.enqueueMany(
  db,
  [1, 2, 3].map((invoice) => ({ kind: 'charge', payload: { invoice } })),
);
const worker = startWorker();
await seen(worker, 'discarded', 3);

const dead = await queue.deadLetters(db);
for (const { kind, error, count } of dead) console.log(`${count} of ${kind} are dead: ${error}`);

priceOfTheService = '5 euros';
const preview = await queue.replay(db, { kind: 'charge', errorMatches: 'no price' }, { preview: true });
console.log(`a replay would send back ${preview.filter(({ result }) => result === 'done').length}`);
const completed = seen(worker, 'completed', 3);
await queue.replay(db, { kind: 'charge', errorMatches: 'no price' });
await completed;
await worker.stop();
await db.$client.close();
