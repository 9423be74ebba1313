/** Every move in tables of a Postgres schema whose name is hard to quote, beside a table `jobs` in public. */
import { sql } from 'drizzle-orm';
import { pgSchema } from 'drizzle-orm/pg-core';
import { expect, it } from 'vitest';
import { tableName } from '../../src/database/table-name.js';
import { createQueue } from '../../src/index.js';
import { queueTables } from '../../src/schema.js';
import { claim } from '../../src/sql/claim.js';
import { completeIn } from '../../src/sql/complete.js';
import { heartbeat } from '../../src/sql/heartbeat.js';
import { releaseClaims } from '../../src/sql/release-claims.js';
import { findDead, rescue } from '../../src/sql/rescue.js';
import { finish } from '../support/finish.js';
import { until } from '../support/until.js';
import { queue, registry } from './app.js';
import type { UsedDriver } from './stage.js';
import { withWorker } from './worker-stage.js';

const names = [
  'Upper Case',
  'quo"te\'s',
  'dot.ted',
  'dol$lar',
  '$1',
  '?',
  ':name',
  'ünï 😀',
  'select',
  'per%cent',
  'back\\slash',
  '--',
];

export function awkwardSchemaTests(used: UsedDriver): void {
  it.each(names)('called %s', async (name) => {
    const schema = sql.identifier(name);
    await used.read(sql`create schema ${schema}`);
    try {
      await used.read(sql`create table ${schema}.jobs (like public.jobs including all)`);
      await used.read(sql`create table ${schema}.job_throttle (like public.job_throttle including all)`);
      await used.read(sql`create table ${schema}.job_limits (like public.job_limits including all)`);
      await queue.enqueue(used.db, 'greet', 'in public');
      await everyMove(used, name);
      expect(await used.read(sql`select state, attempts, payload from public.jobs`)).toEqual([
        { state: 'available', attempts: 0, payload: 'in public' },
      ]);
    } finally {
      await used.read(sql`drop schema ${schema} cascade`);
    }
  });
}

async function everyMove(used: UsedDriver, name: string): Promise<void> {
  const { db } = used;
  const tables = queueTables<typeof registry>({ schema: pgSchema(name) });
  const there = createQueue(registry, { tables });
  const table = tableName(tables.jobs);
  const want = new Map([['default', 10]]);
  const request = { want, kinds: ['greet'] };

  await there.enqueue(db, 'greet', 1);
  const list = [2, 3, 4].map((payload) => ({ kind: 'greet', payload }) as const);
  await db.transaction((tx) => there.enqueueMany(tx, list));
  const { jobs: claimed } = await claim(db, table, { ...request, lockedBy: 'w/1' });
  expect(claimed.map(({ id, payload }) => [id, payload])).toEqual([1, 2, 3, 4].map((n) => [n, n]));
  expect(await heartbeat(db, table, [{ id: 1, lockedBy: 'w/1' }])).toMatchObject([{ pulse: 'ours' }]);
  expect(await db.transaction((tx) => completeIn(tx, table, { id: 1, lockedBy: 'w/1' }))).toBe(true);
  const finished = await finish(db, table, [
    { id: 2, lockedBy: 'w/1', outcome: { move: 'complete' } },
    { id: 3, lockedBy: 'w/1', outcome: { move: 'fail', error: new Error('no luck'), delayMs: undefined } },
  ]);
  expect(finished.map(({ result }) => result)).toEqual(['done', 'done']);
  expect(await releaseClaims(db, table, ['w/1'])).toEqual([4]);
  await claim(db, table, { ...request, lockedBy: 'w/2' });
  await db
    .update(tables.jobs)
    .set({ heartbeatAt: new Date(0) })
    .where(sql`state = 'running'`);
  await until(async () => (await findDead(db, table)).length, { what: 'a dead job' });
  expect(await rescue(db, table)).toMatchObject([{ id: 4, lockedBy: 'w/2' }]);

  const throttle = { dedupeKey: 'k', onDuplicate: 'throttle', periodMs: 60_000 } as const;
  const throttled = await there.enqueue(db, 'greet', 5, throttle);
  await claim(db, table, { ...request, lockedBy: 'w/3' });
  const again = { dedupeKey: 'k', onDuplicate: 'again' } as const;
  expect(await there.enqueue(db, 'greet', 6, again)).toEqual({ id: throttled.id, duplicate: true });
  const completes = { move: 'complete' } as const;
  const ended = await finish(db, table, [{ id: throttled.id, lockedBy: 'w/3', outcome: completes }]);
  expect(ended).toMatchObject([{ result: 'done', state: 'completed' }]);
  await claim(db, table, { ...request, lockedBy: 'w/4' });
  expect(await finish(db, table, [{ id: throttled.id, lockedBy: 'w/4', outcome: completes }])).toMatchObject([
    { result: 'done', state: null },
  ]);
  expect(await there.enqueue(db, 'greet', 7, throttle)).toEqual({ id: throttled.id, duplicate: true });

  await there.pause(db, { kind: 'task' });
  expect(await there.paused(db)).toMatchObject([{ kind: 'task' }]);
  const task = there.enqueue(db, 'task', { does: 'end' });
  const seen = await withWorker(
    used,
    () => {},
    async (seen) => {
      await until(() => seen.paused, { what: 'the pause' });
      await there.resume(db, { kind: 'task' });
      await until(() => seen.completed, { what: 'the task' });
    },
    { tables: there.tables },
  );
  expect(seen.completed?.map(({ job }) => job.id)).toEqual([(await task).id]);
  const left = await db.select({ id: tables.jobs.id }).from(tables.jobs).orderBy(tables.jobs.id);
  expect(left).toEqual([{ id: 3 }, { id: 4 }]);
}
