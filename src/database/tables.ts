/**
 * The tables, as Drizzle tables of the app's own schema.
 *
 * Predicates and CHECKs are literal, unqualified SQL: drizzle-kit 0.31 turns values into parameters, which a
 * migration cannot have, and 1.0 would re-create every index whose predicate names a column through `${…}`.
 * A changed predicate needs a new name, because `drizzle-kit push` does not see the change.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  index,
  integer,
  jsonb,
  type PgTableFn,
  pgTable,
  smallint,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import type { JobError, RowTypes, StoredPayload } from '../words/row-types.js';
import { states } from '../words/states.js';

// A row from before a kind was renamed has an alias of it.
type Kind<R extends RowTypes> =
  | (keyof R['kinds'] & string)
  | NonNullable<R['kinds'][keyof R['kinds']]['$aliases']>[number];
// Kind by kind: of the union of all payloads, the `void` of a kind without one would not be replaced.
type Payload<R extends RowTypes> = {
  [K in keyof R['kinds']]: StoredPayload<R['kinds'][K]['$payload']>;
}[keyof R['kinds']];

const time = (column: string) => timestamp(column, { withTimezone: true });

function jobsTable<R extends RowTypes>(table: PgTableFn<string | undefined>) {
  return table(
    'jobs',
    {
      /** Also the tie-break of the order, and the order in which rows are locked. */
      id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
      queue: text('queue').notNull().default('default'),
      kind: text('kind').$type<Kind<R>>().notNull(),
      payload: jsonb('payload').$type<Payload<R>>().notNull().default(sql`'{}'::jsonb`),
      payloadVersion: smallint('payload_version').notNull().default(1),
      /** Higher first; keep the distinct values few. */
      priority: smallint('priority').notNull().default(0),
      /** Not before this; also the time of a retry. */
      runAt: time('run_at').notNull().defaultNow(),
      state: text('state', { enum: states }).notNull().default('available'),
      /** Counted when the job is claimed, so that a crash counts. */
      attempts: integer('attempts').notNull().default(0),
      maxAttempts: integer('max_attempts').notNull().default(10),
      /** Rescued after so many seconds without a heartbeat. */
      timeoutS: integer('timeout_s').notNull().default(60),
      /** The handler's time limit, where it is another than that of the kind. */
      timeoutMs: integer('timeout_ms'),
      /** The claim that has the job, `<worker>/<n>`: the fence of every finish. */
      lockedBy: text('locked_by'),
      heartbeatAt: time('heartbeat_at'),
      /** When the running attempt was claimed. */
      startedAt: time('started_at'),
      lastError: text('last_error'),
      /** The latest failed attempts. */
      errors: jsonb('errors').$type<readonly JobError[]>().notNull().default(sql`'[]'::jsonb`),
      dedupeKey: text('dedupe_key'),
      /** Not null: the job runs, and is to run once more. Its payload and the like are those of that run already. */
      again: jsonb('again').$type<unknown>(),
      limitKey: text('limit_key'),
      /** What is no input of the handler: trace context and the like. */
      meta: jsonb('meta').$type<{ readonly [key: string]: unknown }>(),
      /** What the handler returned, of a completed job that is kept. */
      result: jsonb('result').$type<unknown>(),
      createdAt: time('created_at').notNull().defaultNow(),
      finishedAt: time('finished_at'),
    },
    (job) => [
      // nullsFirst() is what makes this a plain DESC: Drizzle's desc() alone says NULLS LAST, and a claim that
      // orders by `priority desc` would then sort the whole queue.
      index('jobs_claim')
        .on(job.queue, job.priority.desc().nullsFirst(), job.runAt, job.id)
        .where(sql`state = 'available'`),
      // heartbeat_at is in no index and no predicate, or no heartbeat would be a HOT update.
      index('jobs_running').on(job.id).where(sql`state = 'running'`),
      uniqueIndex('jobs_dedupe')
        .on(job.kind, job.dedupeKey)
        .where(sql`state in ('available', 'running') and dedupe_key is not null`),
      index('jobs_over').on(job.state, job.finishedAt).where(sql`finished_at is not null`),
      // Few and short: Postgres parses all of them anew for each statement that inserts or updates (ARCHITECTURE.md).
      check(
        'jobs_running_is_locked',
        sql`(state = 'running') = (locked_by is not null) and (state = 'running') = (heartbeat_at is not null) and (state = 'running') = (started_at is not null)`,
      ),
      check(
        'jobs_finished_when_final',
        sql`case when finished_at is null then state in ('available', 'running') else state in ('completed', 'discarded', 'cancelled') end`,
      ),
      check(
        'jobs_counts',
        sql`attempts >= 0 and max_attempts >= 1 and timeout_s >= 1 and timeout_ms >= 1 and payload_version >= 1`,
      ),
      check('jobs_not_empty', sql`queue <> '' and kind <> '' and dedupe_key <> '' and limit_key <> ''`),
      check('jobs_errors', sql`jsonb_typeof(errors) = 'array'`),
    ],
  );
}

function jobThrottleTable(table: PgTableFn<string | undefined>) {
  return table(
    'job_throttle',
    {
      id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
      kind: text('kind').notNull(),
      /** The dedupe key. */
      key: text('key').notNull(),
      /** Until then there is no other job of this kind and key. A row whose time is over means nothing. */
      until: time('until').notNull(),
      /** The one job of this period, which may be gone since. */
      jobId: bigint('job_id', { mode: 'number' }),
    },
    (slot) => [
      // No primary key of both: push of drizzle-kit 0.31 reads its columns in any order, and makes it anew now and then.
      uniqueIndex('job_throttle_key').on(slot.kind, slot.key),
      index('job_throttle_until').on(slot.until),
    ],
  );
}

function jobLimitsTable(table: PgTableFn<string | undefined>) {
  return table(
    'job_limits',
    {
      id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
      scope: text('scope', { enum: ['queue', 'kind'] }).notNull(),
      /** Of the queue; or what rows of the kind may be called: each of its names has a row. */
      name: text('name').notNull(),
      pausedAt: time('paused_at').notNull().defaultNow(),
    },
    (limit) => [
      uniqueIndex('job_limits_name').on(limit.scope, limit.name), // as above, no primary key of both
      check('job_limits_scope', sql`scope in ('queue', 'kind')`),
      check('job_limits_names', sql`char_length(name) between 1 and 128`),
    ],
  );
}

/** The jobs table with rows typed by a registry. */
export type JobsTable<R extends RowTypes = RowTypes> = ReturnType<typeof jobsTable<R>>;

/** The table behind `onDuplicate: 'throttle'`: a row for each kind and key that has its job of a period. */
export type JobThrottleTable = ReturnType<typeof jobThrottleTable>;

/** The table behind `queue.pause`: a row for each name of what is paused. */
export type JobLimitsTable = ReturnType<typeof jobLimitsTable>;

/** The tables of the library as an app has them, typed by a registry. All but `jobs` are for one feature each. */
export interface QueueTables<R extends RowTypes = RowTypes> {
  readonly jobs: JobsTable<R>;
  /** For `onDuplicate: 'throttle'`. */
  readonly jobThrottle?: JobThrottleTable | undefined;
  /** For `queue.pause`. */
  readonly jobLimits?: JobLimitsTable | undefined;
}

/**
 * Makes the tables anew, for a Postgres schema of their own:
 * `export const { jobs, jobThrottle, jobLimits } = queueTables({ schema: pgSchema('work') })` in the app's schema file, and
 * `createQueue(registry, { tables: { jobs, jobThrottle, jobLimits } })`. Call it once: two calls are two sets of tables for drizzle-kit.
 *
 * @param options.schema what `pgSchema(…)` of drizzle-orm/pg-core gives; the tables are in `public` without it
 */
export function queueTables<R extends RowTypes = RowTypes>(
  options: { readonly schema?: { readonly table: PgTableFn<string> } | undefined } = {},
): {
  readonly jobs: JobsTable<R>;
  readonly jobThrottle: JobThrottleTable;
  readonly jobLimits: JobLimitsTable;
} {
  const table = options.schema ? options.schema.table : pgTable;
  return {
    jobs: jobsTable<R>(table),
    jobThrottle: jobThrottleTable(table),
    jobLimits: jobLimitsTable(table),
  };
}

/** The jobs table in `public`: what `export * from 'drizzle-queue/schema'` adds to the app's schema. */
export const jobs: JobsTable = jobsTable<RowTypes>(pgTable);

/** The table behind `onDuplicate: 'throttle'`, in `public`. */
export const jobThrottle: JobThrottleTable = jobThrottleTable(pgTable);

/** The table behind `queue.pause`, in `public`. */
export const jobLimits: JobLimitsTable = jobLimitsTable(pgTable);
