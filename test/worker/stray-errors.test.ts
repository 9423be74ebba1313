/**
 * Errors outside of a handler's own promise end its process, as Node does with them: the job comes back with its attempt
 * counted, so that one that kills its process every time ends.
 */
import { afterEach, expect, it } from 'vitest';
import { createQueue } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { useProcesses } from '../support/worker-process.js';
import { type Stray, strayRegistry } from './fixtures/stray-registry.js';
import type { Config } from './fixtures/stray-worker.js';

const database = useDatabase();
const processes = useProcesses();
const { enqueue } = createQueue(strayRegistry);

afterEach(() => database.sql`truncate jobs`);

/** Of a process that has to start first. */
const timeoutMs = 25_000;

const strays: [Stray['does'], Config['driver'], number][] = [
  ['throws in a timer', 'postgres.js', 1],
  ['forgets a rejection', 'node-postgres', 1],
  ['exits', 'postgres.js', 9],
];

it.each(strays)('a handler that %s, on %s', { timeout: 90_000 }, async (does, driver, code) => {
  const { id } = await enqueue(database.db, 'stray', { does });
  const start = () => processes.start('stray-worker', { url: database.url, driver } satisfies Config);
  const state = async () => (await row(database.sql, id))?.state;

  expect(await start().exit).toMatchObject({ code });
  const second = start();
  await until(async () => (await state()) === 'available', { what: 'the rescue', timeoutMs });
  await database.sql`update jobs set run_at = now()`; // instead of its backoff
  expect(await second.exit).toMatchObject({ code });
  start();
  await until(async () => (await state()) === 'discarded', { what: 'the end', timeoutMs });

  expect(await row(database.sql, id)).toMatchObject({
    attempts: 2,
    lastError: expect.stringMatching(/^rescued: /),
    errors: [{ attempt: 1 }, { attempt: 2 }],
  });
});
