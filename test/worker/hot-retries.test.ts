/** Jobs that fail again and again at once, by their own `retry`, take their turns: what waited before them comes first. */
import { expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { watch } = useWorkers(database);

const registry = defineJobs({ bad: job({ maxAttempts: 32_767, retry: () => 0 }), good: job() });
const { enqueueMany } = createQueue(registry);

it('twenty of them do not hold up three hundred others', async () => {
  await enqueueMany(
    database.db,
    Array.from({ length: 20 }, () => ({ kind: 'bad' }) as const),
  );
  await enqueueMany(
    database.db,
    Array.from({ length: 300 }, () => ({ kind: 'good' }) as const),
  );
  let [bad, good, badBefore] = [0, 0, 0];
  const worker = createWorker({
    db: database.db,
    registry,
    queues: { default: 2 },
    log: false,
    handlers: {
      bad: () => {
        bad++;
        throw new Error('no luck');
      },
      good: () => {
        if (++good === 300) badBefore = bad;
      },
    },
  });
  watch(worker);
  await worker.start();
  await until(() => good === 300, { what: 'the good jobs' });
  expect(badBefore).toBeGreaterThanOrEqual(20);
  expect(badBefore).toBeLessThan(100);
});
