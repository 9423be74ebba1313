/**
 * The plans of the worker's statements in a table of 600,000 rows, with and without statistics, as custom and as
 * generic plans: never the whole table, never a sort of a queue, never twice through a batch for each of its jobs, and
 * never so dear that a server would compile it.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Executor } from '../../src/database/executor.js';
import { cancel } from '../../src/sql/cancel.js';
import { claim } from '../../src/sql/claim.js';
import { claimTold } from '../../src/sql/claim-told.js';
import { completeMany } from '../../src/sql/complete-many.js';
import { countJobs } from '../../src/sql/count-jobs.js';
import { findEnd } from '../../src/sql/find-end.js';
import { type FinalFilter, findFinal } from '../../src/sql/find-final.js';
import { findJob } from '../../src/sql/find-job.js';
import { findJobs } from '../../src/sql/find-jobs.js';
import { finish } from '../../src/sql/finish.js';
import { groupDiscarded } from '../../src/sql/group-discarded.js';
import { heartbeat } from '../../src/sql/heartbeat.js';
import type { JobFilter } from '../../src/sql/job-filter.js';
import { keepMany } from '../../src/sql/keep-many.js';
import { releaseClaims } from '../../src/sql/release-claims.js';
import { replay } from '../../src/sql/replay.js';
import { findDead, rescue } from '../../src/sql/rescue.js';
import { useDatabase } from '../support/database.js';
import { fill, table, untilServerHasRunFor } from '../support/jobs.js';
import {
  buffers,
  cte,
  type Explained,
  explain,
  nodes,
  planModes,
  recorded,
  rowsSeen,
} from '../support/plans.js';

const database = useDatabase();
/** What a statement with the cost of `jit_above_cost` would be compiled for. */
const jitAboveCost = 100_000;
const commonKinds = Array.from({ length: 38 }, (_, n) => `kind ${n}`);
let running: number[] = [];
/** Discarded, each with a dedupe key. */
let over: number[] = [];

beforeAll(async () => {
  const { sql } = database;
  await sql`alter table jobs set (autovacuum_enabled = off)`; // else it analyzes when it likes
  const waiting = { priority: sql`i % 3`, dueInS: sql`-i` };
  await fill(sql).available(50_000, { ...waiting, queue: 'one' });
  await fill(sql).available(25_000, { ...waiting, queue: 'two' });
  await fill(sql).available(25_000, { ...waiting, queue: 'three' });
  await fill(sql).available(100_000, { queue: 'mixed', kind: sql`'kind ' || i % 38` });
  await fill(sql).available(20, { queue: 'mixed', kind: 'rare', dueInS: -3_600 });
  await fill(sql).available(20, { queue: 'mixed', kind: 'seldom', dueInS: -1 });
  await fill(sql).available(20, { queue: 'mixed', kind: 'newer', payloadVersion: 2, dueInS: -3_600 });
  await fill(sql).available(200_000, { queue: 'tomorrow', priority: 10, dueInS: 86_400 });
  await fill(sql).available(100, { queue: 'tomorrow' });
  await fill(sql).available(20_000, { queue: 'later', priority: sql`i % 3`, dueInS: sql`3600 + i` });
  await fill(sql).discarded(200_000, { kind: sql`'kind ' || i % 38` });
  over = await fill(sql).discarded(1_000, { dedupeKey: sql`'key ' || i` });
  await untilServerHasRunFor(sql, 1.5);
}, 120_000);

describe.each<[string, () => Promise<unknown>]>([
  ['was never analyzed', fillRunning],
  ['was analyzed while nothing ran', analyzeWhileNothingRuns],
  ['was analyzed', () => database.sql`vacuum analyze jobs`],
])('in a table that %s', (history, prepare) => {
  beforeAll(async () => {
    await prepare();
    // The first update after a load or a vacuum also looks for pages with room.
    await explain(
      database.sql,
      'force_custom_plan',
      await recorded((db) => heartbeat(db, table, held(1_000))),
    );
  });

  describe.each(planModes)('with %s', (mode) => {
    it('a claim that finds nothing due tells when the next job will be, from the index', async () => {
      const request = { want: new Map([['later', 10]]), kinds: ['greet'], lockedBy: 'worker/2', due: true };

      const explained = await plan((db) => claim(db, table, request));

      expectCheap(explained);
      expect(explained.Plan['Actual Rows']).toBe(1);
      expect(buffers(explained.Plan)).toBeLessThan(100);
    });

    it.each<[string, { want: Record<string, number>; kinds: string[]; versions?: number[] }]>([
      ['of one queue', { want: { one: 10 }, kinds: ['greet'] }],
      ['of three queues', { want: { one: 4, two: 3, three: 3 }, kinds: ['greet'] }],
      ['of a rare kind that is first in its queue', { want: { mixed: 10 }, kinds: ['rare'] }],
      ['of 38 of 40 kinds', { want: { mixed: 10 }, kinds: commonKinds }],
      [
        'of 38 kinds, behind some of a newer version',
        { want: { mixed: 10 }, kinds: ['newer', ...commonKinds], versions: [1, ...commonKinds.map(() => 3)] },
      ],
      ['of a version that few have', { want: { mixed: 10 }, kinds: ['newer'], versions: [2] }],
      ['behind 200,000 future jobs', { want: { tomorrow: 10 }, kinds: ['greet'] }],
    ])('a claim takes 10 jobs %s from the index', async (_, { want, ...wanted }) => {
      const request = { want: new Map(Object.entries(want)), ...wanted, lockedBy: 'worker/2' };

      const explained = await plan((db) => claim(db, table, request));

      const next = cte(explained.Plan, 'next');
      expect(explained.Plan['Actual Rows']).toBe(10 + 1); // the last tells about the table
      expectCheap(explained);
      expect(nodes(next).filter(isSort)).toEqual([]);
      expect(buffers(next)).toBeLessThan(60);
      expect(buffers(explained.Plan)).toBeLessThan(20 * 10);
    });

    it('a claim of the one job that was told of reads that job', async () => {
      const [{ id = 0 } = {}] = await database.sql<{ id: number }[]>`
        select max(id)::float8 as id from jobs where queue = 'two' and state = 'available'`;
      const told = { id, queue: 'two', kinds: commonKinds.concat('greet'), lockedBy: 'worker/2' };

      const explained = await plan((db) => claimTold(db, table, told));

      expect(explained.Plan['Actual Rows']).toBe(1);
      expectCheap(explained);
      expect(buffers(explained.Plan)).toBeLessThan(40);
      expect(rowsSeen(explained.Plan)).toBeLessThan(10);
    });

    it.each([
      ['of 100 jobs', 100],
      ['of 500 jobs', 500],
    ])(
      'a complete %s finds them by index, goes through them once and sends nothing back',
      async (_, jobs) => {
        const explained = await plan((db) => completeMany(db, table, held(jobs)));

        expect(explained.Plan['Actual Rows']).toBe(0);
        expectCheap(explained);
        expect(buffers(explained.Plan)).toBeLessThan(20 * jobs);
        expect(rowsSeen(explained.Plan)).toBeLessThan(30 * jobs);
      },
    );

    it('a complete of 500 jobs of which none is ours any more finds them by index', async () => {
      const lost = held(500).map(({ id }) => ({ id, lockedBy: 'worker/9' }));

      const explained = await plan((db) => completeMany(db, table, lost));

      expect(explained.Plan['Actual Rows']).toBe(500);
      expectCheap(explained);
      expect(buffers(explained.Plan)).toBeLessThan(20 * 500);
    });

    it.each([
      ['the finish of 100 jobs', { jobs: 100, send: (db: Executor) => finish(db, table, failing(100)) }],
      [
        'the complete of 500 jobs that are kept',
        { jobs: 500, send: (db: Executor) => keepMany(db, table, keeping(500)) },
      ],
      ['the finish of 500 jobs', { jobs: 500, send: (db: Executor) => finish(db, table, failing(500)) }],
      ['the heartbeat of 100 jobs', { jobs: 100, send: (db: Executor) => heartbeat(db, table, held(100)) }],
      [
        'the heartbeat of 1,000 jobs',
        { jobs: 1_000, send: (db: Executor) => heartbeat(db, table, held(1_000)) },
      ],
      ['the rescue of 500 of 1,000 jobs', { jobs: 500, send: (db: Executor) => rescue(db, table) }],
      ['the look for 500 dead of 1,000 jobs', { jobs: 500, send: (db: Executor) => findDead(db, table) }],
      [
        'the release of a claim',
        { jobs: 1_000, send: (db: Executor) => releaseClaims(db, table, ['worker/1']) },
      ],
    ])('%s finds them by index, and goes through them once', async (_, { jobs, send }) => {
      const explained = await plan(send);

      expect(explained.Plan['Actual Rows']).toBe(jobs);
      expectCheap(explained);
      expect(buffers(explained.Plan)).toBeLessThan(30 * jobs);
      expect(rowsSeen(explained.Plan)).toBeLessThan(60 * jobs);
    });

    it.each<[string, (db: Executor) => Promise<unknown>]>([
      [
        'a cancel',
        (db) =>
          cancel(
            db,
            table,
            'nobody_listens',
            held(1_000).map(({ id }) => id),
          ),
      ],
      ['a replay', (db) => replay(db, table, 'nobody_listens', over, { errorMatches: 'luck' })],
    ])('%s of 1,000 jobs finds them by index, and goes through them once', async (_, send) => {
      const explained = await plan(send);

      expect(cte(explained.Plan, 'moved')['Actual Rows']).toBe(1_000);
      expectCheap(explained);
      expect(buffers(explained.Plan)).toBeLessThan(60 * 1_000);
      expect(rowsSeen(explained.Plan)).toBeLessThan(60 * 1_000);
    });

    // Without statistics it expects few, and sorts those it finds: of all statements a person's filter can afford that.
    it.skipIf(history === 'was never analyzed').each<[string, FinalFilter, number]>([
      ['discarded', { state: 'discarded' }, 1_000],
      ['in a state that none has', { state: 'cancelled' }, 0],
      ['with an error that none has', { state: 'discarded', errorMatches: 'no such error' }, 0],
      ['finished before all', { state: 'discarded', finishedBefore: '2020-01-01T00:00:00Z' }, 0],
    ])('a replay of jobs %s finds them by when they ended, without a sort', async (_, filter, found) => {
      const explained = await plan((db) => findFinal(db, table, filter, 1_000));

      expect(explained.Plan['Actual Rows']).toBe(found);
      expectCheap(explained);
      expect(nodes(explained.Plan).filter(isSort)).toEqual([]);
    });

    it.each<[string, JobFilter]>([
      ['of all', {}],
      ['of those that run', { state: 'running' }],
      ['of those that were discarded', { state: 'discarded' }],
      ['of one kind of those that were discarded', { state: 'discarded', kinds: ['kind 3'] }],
      ['of a queue', { queue: 'mixed', state: 'available' }],
      ['of those that were over before all', { finishedBefore: '2020-01-01T00:00:00Z' }],
      ['of a state that none is in', { state: 'cancelled' }],
    ])('a page %s reads no more than it has to', async (_, filter) => {
      const request = { filter, newestFirst: true, limit: 100, after: undefined };
      const explained = await plan((db) => findJobs(db, table, request));
      expectCheap(explained);
      expect(buffers(explained.Plan)).toBeLessThan(20_000);
    });

    it('a page in the middle begins there', async () => {
      const after = running[500] ?? 0;
      const request = { filter: {}, newestFirst: true, limit: 100, after };
      const explained = await plan((db) => findJobs(db, table, request));
      expect(explained.Plan['Actual Rows']).toBe(100);
      expectCheap(explained);
      expect(rowsSeen(explained.Plan)).toBeLessThan(100 * 10);
      expect(buffers(explained.Plan)).toBeLessThan(100 * 10);
    });

    it('one job and its end are found by their id', async () => {
      for (const send of [findJob, findEnd]) {
        const explained = await plan((db) => send(db, table, running[0] ?? 0));
        expect(explained.Plan['Actual Rows']).toBe(1);
        expect(buffers(explained.Plan)).toBeLessThan(10);
      }
    });

    it('counts of those that run, and of none, read nothing else', async () => {
      for (const state of ['running', 'cancelled'] as const) {
        const explained = await plan((db) => countJobs(db, table, { state }));
        expectCheap(explained);
        expect(buffers(explained.Plan)).toBeLessThan(5 * 1_000);
      }
    });

    it('counts of all go through the table once', async () => {
      const { Plan } = await plan((db) => countJobs(db, table, {}));
      expect(nodes(Plan).filter((node) => node['Relation Name'] === 'jobs')).toHaveLength(1);
    });

    it('dead letters of a time read what was over then', async () => {
      const filter = { finishedBefore: '2020-01-01T00:00:00Z' };
      const explained = await plan((db) => groupDiscarded(db, table, filter, 100));
      expectCheap(explained);
      expect(buffers(explained.Plan)).toBeLessThan(100);
    });

    it.each([
      ['kind 3', 1_000],
      ['no such kind', 0],
    ])('a replay of jobs of the kind %j goes through those that are over once', async (kind, found) => {
      const filter = { state: 'discarded', kinds: [kind] } as const;
      const explained = await plan((db) => findFinal(db, table, filter, 1_000));

      expect(explained.Plan['Actual Rows']).toBe(found);
      expectCheap(explained);
      expect(rowsSeen(explained.Plan)).toBeLessThan(3 * 210_000);
    });

    async function plan(send: (db: Executor) => Promise<unknown>): Promise<Explained> {
      return explain(database.sql, mode, await recorded(send));
    }
  });
});

// Small enough for a scan to look cheaper than a thousand visits, which the planner expects of a claim of ten queues.
describe('in an analyzed table of 100,000 rows', () => {
  const smaller = useDatabase();
  beforeAll(async () => {
    await fill(smaller.sql).available(100_000);
    await smaller.sql`vacuum analyze jobs`;
  });

  it.each(planModes)('a claim of ten queues with %s does not read them all', async (mode) => {
    const want = new Map(['default', ...commonKinds.slice(1, 10)].map((queue) => [queue, 10]));
    const send = (db: Executor) => claim(db, table, { want, kinds: ['greet'], lockedBy: 'worker/2' });
    expectCheap(await explain(smaller.sql, mode, await recorded(send)));
  });
});

async function fillRunning(): Promise<void> {
  running = await fill(database.sql).running(1_000, { timeoutS: 1, heartbeatAgoS: 3_600 });
}

async function analyzeWhileNothingRuns(): Promise<void> {
  await database.sql`delete from jobs where state = 'running'`;
  await database.sql`vacuum analyze jobs`; // vacuum: each plan before has left dead rows
  await fillRunning();
}

/** Spread over the running rows, as the jobs of one worker are. */
function held(count: number) {
  const ids = running.filter((_, n) => n % (running.length / count) === 0);
  return ids.map((id) => ({ id, lockedBy: 'worker/1' }));
}

function keeping(count: number) {
  return held(count).map((claim) => ({ ...claim, result: '{"count": 1}' }));
}

function failing(count: number) {
  const outcome = { move: 'fail', error: new Error('no luck'), delayMs: undefined } as const;
  return held(count).map((claim) => ({ ...claim, outcome }));
}

/** No scan of the whole table, and no compilation: neither here nor where the server has JIT. */
function expectCheap({ Plan, JIT }: Explained): void {
  expect(nodes(Plan).filter(isScanOfAllJobs)).toEqual([]);
  expect(JIT).toBeUndefined();
  expect(Plan['Total Cost']).toBeLessThan(jitAboveCost);
}

function isScanOfAllJobs(node: Explained['Plan']): boolean {
  return node['Relation Name'] === 'jobs' && node['Node Type'].includes('Seq Scan');
}

function isSort(node: Explained['Plan']): boolean {
  return node['Node Type'].includes('Sort');
}
