/** Four workers, each with a pool of its own, share 500 jobs: none is left out and none runs twice. */
import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { connect, networkedDrivers } from '../support/drivers.js';
import { until } from '../support/until.js';
import { createGate } from '../worker/gate.js';
import { queue } from './app.js';
import { startWorker, type TaskHandler } from './worker-stage.js';

const database = useDatabase();
const jobs = 500;

describe.each(networkedDrivers)('on %s', (driver) => {
  it('four workers run 500 jobs, each of them once, from claims that share none', async () => {
    const connections = await Promise.all(Array.from({ length: 4 }, () => connect(driver, database.url)));
    const ran: number[] = [];
    const claimants = new Set<string>();
    const gate = createGate();
    /** Nothing ends before each worker has some: with 20 slots each, no one can take all. */
    const handler: TaskHandler = async (_, { id, lockedBy }) => {
      ran.push(id);
      if (claimants.add(lockedBy.replace(/\/.*/, '')).size === 4) gate.open();
      await gate.passed;
    };
    const workers = await Promise.all(
      connections.map(({ db }) => startWorker({ db }, handler, { queues: { tasks: 20 } })),
    );
    try {
      const list = Array.from({ length: jobs }, () => ({ kind: 'task', payload: { does: 'end' } }) as const);
      const enqueued = await queue.enqueueMany(database.db, list);
      const ends = () => workers.flatMap(({ seen }) => seen.completed ?? []);
      await until(() => ends().length >= jobs, { what: 'all jobs' });

      const ids = enqueued.map(({ id }) => id);
      const sorted = (list: readonly number[]) => [...list].sort((a, b) => a - b);
      const claimed = workers.flatMap(({ seen }) => seen.claimed ?? []).flatMap(({ jobs }) => jobs);
      expect(sorted(ran)).toEqual(ids);
      expect(sorted(ends().map(({ job }) => job.id))).toEqual(ids);
      expect(sorted(claimed.map(({ id }) => id))).toEqual(ids);
      expect(new Set(claimed.map(({ attempt }) => attempt))).toEqual(new Set([1]));
      expect(workers.map(({ seen }) => seen.claimed?.length)).not.toContain(undefined);
      expect(workers.flatMap(({ seen }) => [...(seen.error ?? []), ...(seen.lost ?? [])])).toEqual([]);
      expect(await database.sql`select 1 from jobs`).toHaveLength(0);
    } finally {
      await Promise.all(workers.map(({ worker }) => worker.stop()));
      await Promise.all(connections.map(({ end }) => end()));
    }
  });
});
