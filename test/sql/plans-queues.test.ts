/**
 * The plan of a claim in a table that is split over several queues: where the planner expects fewer jobs in one than the most
 * that a claim takes, reading and sorting all of them looks as good to it as the index.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { claim } from '../../src/sql/claim.js';
import { useDatabase } from '../support/database.js';
import { fill, table } from '../support/jobs.js';
import { buffers, cte, explain, nodes, planModes, recorded } from '../support/plans.js';

const database = useDatabase();
/** What a statement with the cost of `jit_above_cost` would be compiled for. */
const jitAboveCost = 100_000;

describe.each([2, 5, 20])('%i queues', (queues) => {
  beforeAll(async () => {
    const { sql } = database;
    await sql`truncate jobs`;
    await fill(sql).available(100_000, { queue: sql`'queue ' || i % ${queues}::int`, dueInS: sql`-i` });
    await sql`vacuum analyze jobs`;
  }, 60_000);

  it.each(planModes)('a claim goes by the index, with %s', async (mode) => {
    const request = {
      want: new Map([['queue 1', 10]]),
      kinds: ['greet'],
      versions: [1],
      lockedBy: 'worker/1',
    };
    const { Plan } = await explain(database.sql, mode, await recorded((db) => claim(db, table, request)));
    expect(Plan['Actual Rows']).toBe(10 + 1);
    expect(Plan['Total Cost']).toBeLessThan(jitAboveCost);
    const next = cte(Plan, 'next');
    expect(nodes(next).filter((node) => /Sort|Bitmap|Seq Scan/.test(node['Node Type']))).toEqual([]);
    expect(buffers(next)).toBeLessThan(60);
  });
});
