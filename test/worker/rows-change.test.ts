/** Rows that somebody changes by SQL under running jobs: their ends write what is still theirs, say so, and nothing else. */
import { expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { readMigrations } from '../support/migrations.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

const unlocked = 'locked_by = null, heartbeat_at = null, started_at = null';
const changes: Record<string, { by: () => Promise<unknown>; ours: boolean; left: object[] }> = {
  'the table is emptied': { by: () => database.sql`truncate jobs`, ours: false, left: [] },
  'the table is dropped and made anew': { by: dropAndMake, ours: false, left: [] },
  'they go to another queue': {
    by: () => database.sql`update jobs set queue = 'elsewhere'`,
    ours: true,
    left: [{ state: 'available', attempts: 1, queue: 'elsewhere' }],
  },
  'they become another kind': {
    by: () => database.sql`update jobs set kind = 'other'`,
    ours: true,
    left: [{ state: 'available', attempts: 1, queue: 'default' }],
  },
  'their attempts are set to the greatest number': {
    by: () => database.sql`update jobs set attempts = 2147483647`,
    ours: true,
    left: [{ state: 'discarded', attempts: 2_147_483_647, queue: 'default' }],
  },
  'they are made available, for later': {
    by: () => database.sql.unsafe(`update jobs set state = 'available', run_at = 'infinity', ${unlocked}`),
    ours: false,
    left: Array.from({ length: 2 }, () => ({ state: 'available', attempts: 1, queue: 'default' })),
  },
  'they are completed': {
    by: () => database.sql.unsafe(`update jobs set state = 'completed', finished_at = now(), ${unlocked}`),
    ours: false,
    left: Array.from({ length: 2 }, () => ({ state: 'completed', attempts: 1, queue: 'default' })),
  },
  'another claim has them': {
    by: () => database.sql`update jobs set locked_by = 'another/1'`,
    ours: false,
    left: Array.from({ length: 2 }, () => ({ state: 'running', attempts: 1, queue: 'default' })),
  },
  'they get other ids': {
    by: () => database.sql`update jobs set id = default`,
    ours: false,
    left: Array.from({ length: 2 }, () => ({ state: 'running', attempts: 1, queue: 'default' })),
  },
};

it.each(Object.keys(changes))('%s', async (name) => {
  const { by, ours, left } = changes[name] ?? { by: async () => {}, ours: true, left: [] };
  const go = createGate();
  let started = 0;
  const { add, seen, worker } = await startTask(
    async ({ n }) => {
      started++;
      await go.passed;
      if (n === 2) throw new Error('no luck');
    },
    // No heartbeat meanwhile, and no room for a claim: that the ends find it out is the test.
    { heartbeatMs: 10_000, slots: 2, retry: () => 3_600_000 },
  );
  await add(1);
  await add(2);
  await until(() => started === 2, { what: 'both jobs to run' });

  await by();
  go.open();
  await until(
    () => seen.completed.length + seen.failed.length + seen.discarded.length + seen.lost.length === 2,
    {
      what: 'both ends',
    },
  );
  await worker.stop();

  expect(seen.lost).toHaveLength(ours ? 0 : 2);
  expect(seen.error).toEqual([]);
  expect(await database.sql`select state, attempts, queue from jobs`).toEqual(left);
});

async function dropAndMake(): Promise<void> {
  await database.sql`drop table jobs, job_throttle, job_limits`;
  for (const migration of await readMigrations()) await database.sql.unsafe(migration);
}
