/** One worker on very many queues: each gets its jobs, and a claim is one statement for all of them. */
import { expect, it } from 'vitest';
import { createQueue, defineJobs, type JobType, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { watch } = useWorkers(database);

const count = 1_000;
const names = Array.from({ length: count }, (_, n) => `queue/${n} "'\\%`);

it(`${count} queues with a job each`, async () => {
  const kinds: Record<string, JobType<void, void, string>> = Object.fromEntries(
    names.map((name) => [`of ${name}`, job().queue(name)]),
  );
  const registry = defineJobs(kinds);
  const ran = new Set<string>();
  await createQueue(registry).enqueueMany(
    database.db,
    Object.keys(kinds).map((kind) => ({ kind })),
  );
  const worker = createWorker({
    db: database.db,
    registry,
    queues: Object.fromEntries(names.map((name) => [name, 1])),
    log: false,
    handlers: Object.fromEntries(
      Object.keys(kinds).map((kind) => [
        kind,
        (_: unknown, { queue }: { queue: string }) => void ran.add(queue),
      ]),
    ),
  });
  const seen = watch(worker);
  await worker.start();
  await until(() => ran.size === count, { what: 'a job of each queue', timeoutMs: 25_000 });
  expect(seen.error).toEqual([]);
  expect(seen.claimed.length).toBeLessThan(20);
});
