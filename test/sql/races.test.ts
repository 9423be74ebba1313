/**
 * The same move or two moves against each other, each on a connection of its own: every job goes to exactly one.
 */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ClaimedJob, claim } from '../../src/sql/claim.js';
import { rescue } from '../../src/sql/rescue.js';
import { withClients } from '../support/clients.js';
import { useDatabase } from '../support/database.js';
import { finish } from '../support/finish.js';
import { fill, table, untilServerHasRunFor } from '../support/jobs.js';

const database = useDatabase();
const kinds = ['greet'];
const ascending = (a: number, b: number) => a - b;

beforeAll(() => untilServerHasRunFor(database.sql, 1.5));
beforeEach(() => database.sql`truncate jobs`);

describe('claimers at once', () => {
  it.each([
    { claimers: 8, jobs: 1_000, limits: { default: 7 } },
    { claimers: 8, jobs: 20_000, limits: { default: 100, mail: 30 } },
  ])('$claimers of them share $jobs jobs of $limits: each job once, never over the limit', async (race) => {
    const queues = Object.entries(race.limits);
    const made = await Promise.all(
      queues.map(([queue]) =>
        fill(database.sql).available(race.jobs / queues.length, { queue, priority: database.sql`i % 3` }),
      ),
    );
    const batches: (readonly ClaimedJob[])[] = [];

    await withClients(database.url, race.claimers, (clients) =>
      Promise.all(
        clients.map(async (db, worker) => {
          for (let n = 1; ; n++) {
            const { jobs: batch } = await claim(db, table, {
              want: new Map(queues),
              kinds,
              lockedBy: `${worker}/${n}`,
            });
            if (batch.length === 0 && (await left()) === 0) return;
            batches.push(batch);
          }
        }),
      ),
    );

    const claimed = batches.flat();
    expect(claimed.map(({ id }) => id).sort(ascending)).toEqual(made.flat().sort(ascending));
    expect(new Set(claimed.map(({ lockedBy }) => lockedBy.split('/')[0])).size).toBe(race.claimers);
    for (const [queue, limit] of queues) {
      const most = Math.max(...batches.map((batch) => batch.filter((job) => job.queue === queue).length));
      expect(most).toBe(limit);
    }
  });

  async function left(): Promise<number> {
    const [count] = await database.sql<{ left: number }[]>`
      select count(*)::int as left from jobs where state = 'available'`;
    return count?.left ?? 0;
  }
});

describe('rescue against finish', () => {
  it('gives every job to exactly one of them', async () => {
    const wins = { finish: 0, rescue: 0 };
    await withClients(database.url, 2, async ([finisher, rescuer]) => {
      if (!finisher || !rescuer) throw new Error('Two clients are needed.');
      for (let round = 0; round < 100; round++) {
        const ids = await fill(database.sql).running(50, { timeoutS: 1, heartbeatAgoS: 3_600 });
        const finishes = ids.map((id) => ({
          id,
          lockedBy: 'worker/1',
          outcome: { move: 'complete' } as const,
        }));

        // By turns the one or the other is sent first.
        const early = round % 2 === 0 ? rescue(rescuer, table) : undefined;
        const answers = finish(finisher, table, finishes);
        const rescued = (await (early ?? rescue(rescuer, table))).map(({ id }) => id);
        const done = (await answers).filter(({ result }) => result === 'done').map(({ id }) => id);

        expect([...done, ...rescued].sort(ascending)).toEqual(ids.sort(ascending));
        wins.finish += done.length;
        wins.rescue += rescued.length;
      }
    });
    // Else one of them always came first, and nothing was raced.
    expect(wins.finish).toBeGreaterThan(0);
    expect(wins.rescue).toBeGreaterThan(0);
  });
});
