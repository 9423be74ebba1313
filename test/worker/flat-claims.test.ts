/**
 * Claims that begin where the last one ended: dead rows in front cost them nothing, and no job is overlooked for it,
 * wherever it comes to lie.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Sql } from 'postgres';
import { afterEach, describe, expect, it } from 'vitest';
import { claimStatement } from '../../src/sql/claim.js';
import type { Level } from '../../src/sql/claim-next.js';
import { withClients } from '../support/clients.js';
import { useDatabase } from '../support/database.js';
import { claimsWait, fill, given, table } from '../support/jobs.js';
import { buffers, cte, explain, planModes } from '../support/plans.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { type TaskHandler, type TaskOptions, useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);
const hour = 3_600;

/** Runs `work` while a transaction lasts for which vacuum has to keep every row that dies. */
async function underSnapshot<Result>(sql: Sql, work: () => Promise<Result>): Promise<Result> {
  const old = await sql.reserve();
  try {
    // Unnamed: explaining deallocates all that this client has prepared.
    await old.unsafe('begin isolation level repeatable read; select count(*) from jobs');
    return await work();
  } finally {
    await old.unsafe('rollback');
    old.release();
  }
}

describe.each(planModes)('behind 20,000 jobs that ended under an old snapshot, with %s', (mode) => {
  it('a claim reads few pages when it knows where to begin, and their dead rows when it does not', async () => {
    const { sql } = database;
    await fill(sql).available(20_000, { dueInS: sql`i - 40000`, priority: sql`i % 3` });
    await fill(sql).available(100, { dueInS: sql`i - 10000`, priority: sql`i % 3` });
    await sql`analyze jobs`;
    await underSnapshot(sql, async () => {
      await sql`delete from jobs where run_at < now() - interval '20000 s'`;
      const [bound] = await sql<[{ us: string }]>`
        select (extract(epoch from now() - interval '15000 s') * 1000000)::bigint::text as us`;
      const known = [0, 1, 2].map((priority) => ({ priority, sinceUs: Number(bound.us) }));

      const seen = async (levels?: readonly Level[]) => {
        const request = { want: new Map([['default', 10]]), kinds: ['greet'], lockedBy: 'worker/1' };
        const bounds = levels && new Map([['default', levels]]);
        const { Plan } = await explain(sql, mode, claimStatement(table, { ...request, levels: bounds }));
        expect(Plan['Actual Rows']).toBe(10 + 1);
        return buffers(cte(Plan, 'next'));
      };

      expect(await seen(known)).toBeLessThan(100);
      expect(await seen(undefined)).toBeGreaterThan(500);
      // Also those of a priority that is known are gone through when only others have a bound.
      expect(await seen(known.slice(0, 2))).toBeGreaterThan(500);
    });
    await sql`truncate jobs`;
  });
});

/**
 * A worker with a backlog, whose looks begin where the last one ended for the next ten seconds: its last look at
 * everything took more than one. `jobs` were begun; the next look comes when `go` is opened.
 */
async function startInBacklog(handler: TaskHandler, options: TaskOptions & { slots: number }) {
  const { sql } = database;
  const { slots } = options;
  const gates = [createGate(), createGate()];
  let begun = 0;
  await fill(sql).available(2 * slots, { kind: 'task', payload: { n: -1 }, dueInS: -hour });
  const started = await startTask(
    async (payload, job) => {
      if (payload.n >= 0) return handler(payload, job);
      await gates[begun++ < slots ? 0 : 1]?.passed;
    },
    { pollIntervalMs: 3_600_000, ...options },
  );
  await until(() => begun === slots, { what: 'the first look, of which no cost is known' });
  await claimsWait(sql);
  const holder = await sql.reserve();
  await holder`select pg_advisory_lock(1)`;
  gates[0]?.open();
  const waiting = async () => {
    const [found] = await sql`
      select 1 from pg_stat_activity
      where datname = current_database() and wait_event = 'advisory' and clock_timestamp() - query_start > interval '1.2 s'`;
    return found;
  };
  await until(waiting, { what: 'a look of more than a second' });
  await holder`select pg_advisory_unlock(1)`;
  holder.release();
  await until(() => begun === 2 * slots, { what: 'the second look' });
  await sql`drop function claim_waits cascade`;
  return { ...started, go: () => gates[1]?.open() };
}
afterEach(() => database.sql`drop function if exists claim_waits cascade`);

it('a look that comes back short is followed at once by one at everything, which finds a job before the bound', async () => {
  let ran = 0;
  const { go } = await startInBacklog(() => void ran++, { slots: 3 });
  await given(database.sql).available({ kind: 'task', payload: { n: 1 }, dueInS: -9 * hour });
  go();
  // Else it is found when ten seconds are over.
  await until(() => ran === 1, { what: 'the job', timeoutMs: 6_000 });
});

it('a job before the bound is started long before a backlog is finished', async () => {
  const { sql } = database;
  const order: number[] = [];
  await fill(sql).available(5_000, { kind: 'task', payload: { n: 0 } });
  await startTask(
    async ({ n }) => {
      if (order.push(n) !== 500) return turn();
      await given(sql).available({ kind: 'task', payload: { n: 1 }, dueInS: -9 * hour });
    },
    { slots: 5 },
  );
  await until(() => order.length === 5_001, { what: 'all jobs', timeoutMs: 25_000 });
  expect(order.indexOf(1)).toBeGreaterThan(499);
  expect(order.indexOf(1)).toBeLessThan(4_500);
});

it('a job of a higher priority than any that is known is started next', async () => {
  const order: number[] = [];
  const { sql } = database;
  const { go } = await startInBacklog(
    async ({ n }) => {
      order.push(n);
      if (n === 3)
        await given(sql).available({ kind: 'task', payload: { n: 100 }, priority: 5, dueInS: -9 * hour });
      if (n === 6) await given(sql).available({ kind: 'task', payload: { n: 200 }, priority: 9 });
      if (n === 7) await given(sql).available({ kind: 'task', payload: { n: 300 }, priority: 7 });
    },
    { slots: 1 },
  );
  for (let n = 1; n <= 9; n++) await given(sql).available({ kind: 'task', payload: { n }, dueInS: -60 + n });
  go();
  await until(() => order.length === 12, { what: 'all jobs' });
  expect(order).toEqual([1, 2, 3, 100, 4, 5, 6, 200, 7, 300, 8, 9]);
});

it('whatever their priority and time, jobs run as often as they should, by several workers', async () => {
  const { sql } = database;
  const count = 3_000;
  const runs = Array.from({ length: count }, () => 0);
  const failures = (n: number) => (n % 7 === 0 ? n % 3 : 0);
  const seen: { error: unknown[]; lost: unknown[] }[] = [];
  const add = (from: number, to: number) => sql`
    insert into jobs (kind, payload, priority, run_at, max_attempts)
    select 'task', jsonb_build_object('n', n), floor(random() * 7) - 3,
           now() - random() ^ 4 * interval '2 hours', 10
    from   generate_series(${from}::int, ${to - 1}::int) as n`;

  await underSnapshot(sql, () =>
    withClients(database.url, 3, async (clients) => {
      await add(0, 1_500);
      const workers = await Promise.all(
        clients.map((db) =>
          startTask(
            async ({ n }, { attempt }) => {
              runs[n] = (runs[n] ?? 0) + 1;
              await turn();
              if (attempt <= failures(n)) throw new Error('again');
            },
            { db, slots: 7, retry: (_error, attempt) => (attempt - 1) * 20 },
          ),
        ),
      );
      seen.push(...workers.map((one) => one.seen));
      // More come in while they work, with times before and after where the claims are.
      for (let from = 1_500; from < count; from += 100) await add(from, from + 100);
      const left = async () => (await sql<[{ n: number }]>`select count(*)::int as n from jobs`)[0].n;
      await until(async () => (await left()) === 0, { what: 'all ends', timeoutMs: 25_000 });
      await Promise.all(workers.map(({ worker }) => worker.stop()));
    }),
  );

  expect(runs).toEqual(runs.map((_, n) => failures(n) + 1));
  expect(seen.flatMap(({ error, lost }) => [...error, ...lost])).toEqual([]);
}, 60_000);
