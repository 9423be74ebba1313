/** What is found in a table that was changed by hand, and that what the check says to run mends it. */
import { sql } from 'drizzle-orm';
import { pgSchema } from 'drizzle-orm/pg-core';
import { afterEach, describe, expect, it } from 'vitest';
import { checkSchema } from '../../src/index.js';
import { jobs, queueTables } from '../../src/schema.js';
import { useDatabase } from '../support/database.js';

const database = useDatabase();

it('finds nothing in a database that was just migrated', async () => {
  expect(await checkSchema(database.db)).toEqual([]);
  expect(await checkSchema(database.db, { role: 'enqueuer' })).toEqual([]);
  expect(await checkSchema(database.db, { role: 'reader' })).toEqual([]);
});

/** What was done to the table, and the one problem that is found then. */
const changes: readonly [change: string, found: object][] = [
  [
    "drop index jobs_claim; create index jobs_claim on jobs (queue, priority desc, run_at, id) where state = 'running'",
    {
      code: 'INDEX_DIFFERS',
      severity: 'warning',
      object: 'index "jobs_claim"',
      message: `The index "jobs_claim" on "public"."jobs" has the predicate \`(state = 'running'::text)\`, expected \`state = 'available'\`. Run: drop index concurrently "public"."jobs_claim"; create index concurrently "jobs_claim" on "public"."jobs" ("queue", "priority" desc, "run_at", "id") where state = 'available'.`,
    },
  ],
  [
    'drop index jobs_running; create index jobs_running on jobs (id)',
    {
      code: 'INDEX_DIFFERS',
      message: expect.stringContaining("has the predicate none, expected `state = 'running'`"),
    },
  ],
  [
    "drop index jobs_claim; create index jobs_claim on jobs (queue, priority desc nulls last, run_at, id) where state = 'available'",
    {
      code: 'INDEX_DIFFERS',
      message: expect.stringContaining(
        'is on (queue, priority desc nulls last, run_at, id), expected (queue, priority desc, run_at, id)',
      ),
    },
  ],
  [
    'drop index jobs_over; create index jobs_over on jobs (abs(id)) where finished_at is not null',
    {
      code: 'INDEX_DIFFERS',
      message: expect.stringContaining('is on (an expression), expected (state, finished_at)'),
    },
  ],
  [
    "drop index jobs_dedupe; create index jobs_dedupe on jobs (kind, dedupe_key) where state in ('available', 'running') and dedupe_key is not null",
    { code: 'INDEX_DIFFERS', severity: 'error', message: expect.stringContaining('is not unique') },
  ],
  ['drop index jobs_running', { code: 'INDEX_MISSING', severity: 'warning', object: 'index "jobs_running"' }],
  ['drop index jobs_dedupe', { code: 'INDEX_MISSING', severity: 'error', object: 'index "jobs_dedupe"' }],
  [
    "update pg_index set indisvalid = false where indexrelid = 'jobs_over'::regclass",
    { code: 'INDEX_DIFFERS', message: expect.stringContaining('is not valid: making it failed') },
  ],
  [
    'alter table jobs drop column meta',
    { code: 'COLUMN_MISSING', severity: 'error', object: 'column "public"."jobs"."meta"' },
  ],
  [
    'alter table jobs alter column payload type json',
    {
      code: 'COLUMN_DIFFERS',
      severity: 'error',
      message: expect.stringContaining('type json, expected jsonb'),
    },
  ],
  [
    'alter table jobs alter column run_at drop not null',
    { code: 'COLUMN_DIFFERS', severity: 'warning', message: expect.stringContaining('may be null') },
  ],
  [
    'alter table jobs alter column queue drop default',
    { code: 'COLUMN_DIFFERS', severity: 'error', message: expect.stringContaining('has no default') },
  ],
  [
    'alter table jobs alter column id drop identity',
    {
      code: 'COLUMN_DIFFERS',
      severity: 'error',
      message: expect.stringContaining('is not filled by the database'),
    },
  ],
  [
    'alter table jobs add column tenant int not null',
    {
      code: 'COLUMN_DIFFERS',
      severity: 'error',
      message: expect.stringContaining('every enqueue fails on it'),
    },
  ],
  [
    'alter table jobs drop constraint jobs_counts',
    { code: 'CHECK_MISSING', severity: 'warning', object: 'constraint "jobs_counts"' },
  ],
  [
    'alter table jobs drop constraint jobs_errors; alter table jobs add constraint jobs_errors check (errors is not null)',
    {
      code: 'CHECK_DIFFERS',
      severity: 'warning',
      message: expect.stringContaining('checks `(errors IS NOT NULL)`'),
    },
  ],
  [
    'alter table jobs reset (fillfactor)',
    {
      code: 'STORAGE_NOT_SET',
      severity: 'warning',
      message: expect.stringContaining('are not set: fillfactor. Run:'),
    },
  ],
  [
    'alter table job_throttle drop column job_id',
    { code: 'COLUMN_MISSING', severity: 'warning', object: 'column "public"."job_throttle"."job_id"' },
  ],
  [
    'drop index job_throttle_key',
    { code: 'INDEX_MISSING', severity: 'warning', object: 'index "job_throttle_key"' },
  ],
  [
    'drop index job_throttle_until',
    { code: 'INDEX_MISSING', severity: 'warning', object: 'index "job_throttle_until"' },
  ],
  [
    'alter table job_limits drop column paused_at',
    { code: 'COLUMN_MISSING', severity: 'warning', object: 'column "public"."job_limits"."paused_at"' },
  ],
  [
    'alter table job_limits drop constraint job_limits_scope',
    { code: 'CHECK_MISSING', severity: 'warning', object: 'constraint "job_limits_scope"' },
  ],
];

describe('a table that was changed', () => {
  it.each(changes)('by %s', async (change, found) => {
    await database.sql.unsafe(change);
    const problems = await checkSchema(database.db);
    expect(problems).toEqual([expect.objectContaining(found)]);

    for (const { code, run } of problems) {
      const statements =
        code === 'STORAGE_NOT_SET' ? [/or the SQL: (.*)\.$/.exec(problems[0]?.message ?? '')?.[1]] : run;
      for (const statement of statements) await database.sql.unsafe(statement ?? 'nothing to run');
    }
    expect(await checkSchema(database.db)).toEqual([]);
  });

  afterEach(async () => {
    await database.sql.unsafe('alter table jobs drop column if exists tenant');
  });

  it('by columns, indexes, values and storage of the app’s own is as good as before', async () => {
    await database.sql.unsafe(`
      alter table jobs add column note text, add column tenant int not null default 1, alter column max_attempts set default 3;
      create index app_tenant on jobs (tenant);
      alter table jobs set (fillfactor = 85, autovacuum_vacuum_cost_delay = 0)`);
    expect(await checkSchema(database.db)).toEqual([]);
    await database.sql.unsafe('alter table jobs set (fillfactor = 70); alter table jobs drop column note');
  });

  it('in many ways is told of in as many problems', async () => {
    const looked = database.db.transaction(async (tx) => {
      await tx.execute(sql`drop index jobs_claim, jobs_running`);
      await tx.execute(sql`alter table jobs drop column meta, drop constraint jobs_counts`);
      const codes = (await checkSchema(tx)).map(({ code }) => code);
      expect(codes).toEqual(['COLUMN_MISSING', 'INDEX_MISSING', 'INDEX_MISSING', 'CHECK_MISSING']);
      throw new Error('seen');
    });
    await expect(looked).rejects.toThrow('seen');
  });
});

describe('tables that are not there', () => {
  const work = queueTables({ schema: pgSchema('work') });

  it('that of the throttles alone, which an app may do without', async () => {
    await database.sql`alter table job_throttle rename to other_throttle`;
    expect(await checkSchema(database.db)).toEqual([
      {
        code: 'TABLE_MISSING',
        severity: 'warning',
        object: 'table "public"."job_throttle"',
        message: expect.stringMatching(
          /`onDuplicate: 'throttle'` fails\. Run: npx .* does not export `jobThrottle`/,
        ),
        run: ['npx drizzle-kit generate', 'npx drizzle-kit migrate'],
      },
    ]);
    expect(await checkSchema(database.db, { tables: { jobs } })).toEqual([]);
    await database.sql`alter table other_throttle rename to job_throttle`;
  });

  it('both that an app may do without, in one', async () => {
    await database.sql`alter table job_throttle rename to other_throttle`;
    await database.sql`alter table job_limits rename to other_limits`;
    expect(await checkSchema(database.db)).toEqual([
      {
        code: 'TABLE_MISSING',
        severity: 'warning',
        object: 'tables "public"."job_throttle", "public"."job_limits"',
        message: expect.stringMatching(
          /`onDuplicate: 'throttle'` and `queue.pause` fail\. Run: npx .* does not export `jobThrottle` and `jobLimits`\./,
        ),
        run: ['npx drizzle-kit generate', 'npx drizzle-kit migrate'],
      },
    ]);
    const { jobThrottle } = queueTables();
    expect(await checkSchema(database.db, { tables: { jobs, jobThrottle } })).toMatchObject([
      { object: 'table "public"."job_throttle"' },
    ]);
    await database.sql`alter table other_throttle rename to job_throttle`;
    await database.sql`alter table other_limits rename to job_limits`;
  });

  it('for want of a schema', async () => {
    expect(await checkSchema(database.db, { tables: work })).toEqual([
      expect.objectContaining({
        code: 'TABLE_MISSING',
        message: expect.stringContaining('There is one in the schema "public"'),
      }),
    ]);
    await database.sql`alter table jobs rename to other_jobs`;
    expect(await checkSchema(database.db, { tables: work })).toEqual([
      expect.objectContaining({ code: 'SCHEMA_MISSING', object: 'schema "work"' }),
    ]);
  });

  it('because nobody ran the migrations', async () => {
    expect(await checkSchema(database.db)).toEqual([
      {
        code: 'TABLE_MISSING',
        severity: 'error',
        object: 'table "public"."jobs"',
        message: expect.stringContaining(
          'Run: npx drizzle-kit generate && npx drizzle-kit migrate. Where they do not',
        ),
        run: ['npx drizzle-kit generate', 'npx drizzle-kit migrate'],
      },
    ]);
  });

  it('because the app’s own table has their name', async () => {
    await database.sql`create table jobs (id int, title text)`;
    const [problem, ...others] = await checkSchema(database.db);
    expect(others).toEqual([]);
    expect(problem).toMatchObject({
      code: 'TABLE_NOT_OURS',
      message: expect.stringContaining('hides ours behind `export *`'),
    });
    await database.sql`drop table jobs`;
    await database.sql`create view jobs as select * from other_jobs`;
    expect(await checkSchema(database.db)).toEqual([
      expect.objectContaining({ code: 'TABLE_NOT_OURS', message: expect.stringContaining('is no table') }),
    ]);
    await database.sql`drop view jobs`;
  });
});
