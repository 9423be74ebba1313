/** The clock of the worker's machine, wrong by as much as it may be and set while jobs run, changes nothing: the database's counts. */
import { afterEach, expect, it, vi } from 'vitest';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

afterEach(() => void vi.useRealTimers());

function setClock(ms: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });
}

const hour = 3_600_000;

it.each([
  ['an hour ahead', hour],
  ['an hour behind', -hour],
  ['a year ahead', 365 * 24 * hour],
])('%s, and set while a job runs', async (_, ms) => {
  setClock(ms);
  const go = createGate();
  const { add, seen, worker } = await startTask(
    async ({ n }, job) => {
      if (n === 1) await go.passed;
      if (n === 2 && job.attempt === 1) throw new Error('no luck');
    },
    { rescueAfterMs: 1_000 },
  );
  const long = await add(1);
  await add(2);
  const later = await add(3, { delayMs: 60_000 });
  await add(4, { delayMs: 300 });
  const renewed = async () => {
    const [pulse] = await database.sql`
      select 1 from jobs where id = ${long} and heartbeat_at > started_at + interval '1.2 seconds'`;
    return pulse;
  };
  await until(async () => seen.claimed.length > 0 && (await row(database.sql, long))?.state === 'running', {
    what: 'the first job to run',
  });
  setClock(-2 * ms);

  await until(renewed, { what: 'heartbeats for longer than the rescue limit' });
  await until(() => seen.completed.length === 2, { what: 'the second attempt, and the delayed job' });
  go.open();
  await until(() => seen.completed.length === 3, { what: 'the long job' });
  await worker.stop();

  expect(seen).toMatchObject({ rescued: [], lost: [], error: [] });
  expect(seen.failed).toHaveLength(1);
  expect(seen.failed[0]?.retryInMs).toBeLessThanOrEqual(2_000);
  expect(await row(database.sql, later)).toMatchObject({ state: 'available', attempts: 0 });
});
