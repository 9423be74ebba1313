/** Workers whose table of what is paused is not there, goes, comes, or is locked. */
import { sql } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import { channelOf } from '../../src/database/table-name.js';
import { jobs } from '../../src/schema.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { waitingForLock } from '../support/waiting.js';
import { createGate } from './gate.js';
import { passes, queue, tasks, usePauses } from './pauses-stage.js';

const database = useDatabase();
const { logged, listening } = usePauses(database);

describe('without the table', () => {
  it('a worker that was given none has no pauses', async () => {
    await queue.pause(database.db, { queue: 'default' });
    await queue.enqueueMany(database.db, tasks(3));
    const { db, sent } = logged();
    const { jobs, jobThrottle } = queue.tables;
    const { seen } = await listening({ db, tables: { jobs, jobThrottle } });
    await until(() => seen.completed.length === 3, { what: 'the jobs' });
    expect(sent.filter((text) => text.includes('job_limits'))).toEqual([]);
    expect(seen).toMatchObject({ problem: [], paused: [], error: [] });
  });

  it('a worker whose database has none warns once, works, and heeds pauses once it is there', async () => {
    await database.sql`alter table job_limits rename to elsewhere`;
    try {
      const { db, sent } = logged();
      const { seen, ran } = await listening({ db });
      await queue.enqueueMany(database.db, tasks(3));
      await until(() => seen.completed.length === 3 && seen.problem.length, {
        what: 'the jobs, and the problem',
      });
      expect(seen.problem).toMatchObject([
        { code: 'TABLE_MISSING', severity: 'warning', object: 'table "public"."job_limits"' },
      ]);
      expect(sent.filter((text) => /from +"public"."job_limits"/.test(text))).toEqual([]);
      await database.sql`alter table elsewhere rename to job_limits`;
      await queue.pause(database.db, { queue: 'default' });
      await until(() => seen.paused.length, { what: 'the pause', timeoutMs: 1_000 });
      await queue.enqueue(database.db, 'other', { n: 1 });
      await until(() => ran.length === 4, { what: 'the queue that goes on' });
      expect(seen.error).toEqual([]);
    } finally {
      await database.sql`alter table if exists elsewhere rename to job_limits`;
    }
  });

  it('nor does a worker end whose table goes while it runs: then nothing is paused', async () => {
    await queue.pause(database.db, { queue: 'default' });
    await queue.enqueueMany(database.db, tasks(3));
    const { seen } = await listening();
    await passes(2_100); // by then a look at the sessions has asked for the table as well
    await database.sql`alter table job_limits rename to elsewhere`;
    try {
      await until(() => seen.completed.length === 3, { what: 'the jobs', timeoutMs: 10_000 });
      await until(() => seen.listening.length === 2, { what: 'it to listen again' });
    } finally {
      await database.sql`alter table elsewhere rename to job_limits`;
    }
  });
});

it('nothing is claimed between the hearing of a change and the reading of it', async () => {
  const { seen, ran } = await listening();
  await passes(2_100); // from then on it goes by what it is told
  const [locked, open] = [createGate(), createGate()];
  const holder = database.db.transaction(async (tx) => {
    await queue.pause(tx, { queue: 'default' });
    await tx.execute(sql`lock table job_limits in access exclusive mode`);
    locked.open();
    await open.passed;
  });
  try {
    await locked.passed;
    await queue.enqueue(database.db, 'task', { n: 1 });
    await until(() => seen.completed.length === 1, { what: 'a job before the commit' });
    await database.sql.notify(channelOf(jobs), 'pauses');
    await until(async () => (await waitingForLock(database.sql, '%job_limits%')).length, {
      what: 'the reading to wait',
    });
    await queue.enqueue(database.db, 'task', { n: 2 });
    await passes(300);
    expect(ran.map(({ n }) => n)).toEqual([1]);
  } finally {
    open.open();
    await holder;
  }
  await until(() => seen.paused.length, { what: 'the pause' });
  await passes(200);
  expect(ran.map(({ n }) => n)).toEqual([1]);
});
