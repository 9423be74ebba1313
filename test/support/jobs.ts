/**
 * Rows of the jobs table made in a state and in the past, since tests never wait for time to pass.
 *
 * `given(sql).running({ heartbeatAgoS: 3600 })` makes one row, `fill(sql).available(1_000)` many in one statement.
 */
import type { Fragment, Sql } from 'postgres';
import { tableName } from '../../src/database/table-name.js';
import { jobs } from '../../src/database/tables.js';
import type { State } from '../../src/words/states.js';
import { until } from './until.js';

/** What the statements of `src/sql/` take as their table. */
export const table = tableName(jobs);

/** A value, or for `fill` an SQL expression over `i`, which counts the rows from 1. */
type Value<T> = T | Fragment;

/** What a test may say of a row; all else is what a row in that state would have. */
export type Columns = {
  queue?: Value<string>;
  kind?: Value<string>;
  payload?: unknown;
  payloadVersion?: Value<number>;
  priority?: Value<number>;
  /** Seconds until the job is due; negative: it has been due for so long. */
  dueInS?: Value<number>;
  attempts?: Value<number>;
  maxAttempts?: Value<number>;
  timeoutS?: Value<number>;
  lastError?: string | null;
  errors?: readonly unknown[];
  dedupeKey?: Value<string | null>;
};
export type RunningColumns = Columns & {
  lockedBy?: Value<string>;
  startedAgoS?: Value<number>;
  heartbeatAgoS?: Value<number>;
};
export type FinalColumns = Columns & { finishedAgoS?: Value<number> };

/** Makes one row and gives its id. */
export function given(sql: Sql) {
  const one = async (state: State, columns: RunningColumns & FinalColumns): Promise<number> => {
    const [id] = await insert(sql, 1, state, columns);
    if (id === undefined) throw new Error('The insert gave no id.');
    return id;
  };
  return {
    available: (columns: Columns = {}) => one('available', columns),
    running: (columns: RunningColumns = {}) => one('running', columns),
    completed: (columns: FinalColumns = {}) => one('completed', columns),
    discarded: (columns: FinalColumns = {}) => one('discarded', columns),
    cancelled: (columns: FinalColumns = {}) => one('cancelled', columns),
  } satisfies Record<State, unknown>;
}

/** Makes many rows in one statement and gives their ids. */
export function fill(sql: Sql) {
  return {
    available: (count: number, columns: Columns = {}) => insert(sql, count, 'available', columns),
    running: (count: number, columns: RunningColumns = {}) => insert(sql, count, 'running', columns),
    completed: (count: number, columns: FinalColumns = {}) => insert(sql, count, 'completed', columns),
    discarded: (count: number, columns: FinalColumns = {}) => insert(sql, count, 'discarded', columns),
    cancelled: (count: number, columns: FinalColumns = {}) => insert(sql, count, 'cancelled', columns),
  } satisfies Record<State, unknown>;
}

async function insert(
  sql: Sql,
  count: number,
  state: State,
  columns: RunningColumns & FinalColumns,
): Promise<number[]> {
  const { queue = 'default', kind = 'greet', payload = {}, priority = 0, dueInS = -60 } = columns;
  const { maxAttempts = 10, timeoutS = 60, errors = [], dedupeKey = null, payloadVersion = 1 } = columns;
  const {
    attempts = { available: 0, discarded: maxAttempts, running: 1, completed: 1, cancelled: 0 }[state],
  } = columns;
  const { lastError = state === 'discarded' ? 'Error: no luck' : null } = columns;
  const { lockedBy = 'worker/1', heartbeatAgoS = 1, startedAgoS = 30, finishedAgoS = 10 } = columns;
  const running = state === 'running';
  const final = state === 'completed' || state === 'discarded' || state === 'cancelled';
  const ago = (seconds: Value<number>) =>
    sql`(clock_timestamp() - (${seconds})::float8 * interval '1 second')`;
  const inserted = await sql<{ id: number }[]>`
    insert into jobs (queue, kind, payload, payload_version, priority, run_at, state, attempts, max_attempts, timeout_s, locked_by,
                      heartbeat_at, started_at, finished_at, last_error, errors, dedupe_key)
    select (${queue})::text, (${kind})::text, ${JSON.stringify(payload)}::text::jsonb,
           (${payloadVersion})::smallint, (${priority})::smallint,
           clock_timestamp() + (${dueInS})::float8 * interval '1 second', ${state}, (${attempts})::int,
           (${maxAttempts})::int, (${timeoutS})::int, ${running ? sql`(${lockedBy})::text` : null},
           ${running ? ago(heartbeatAgoS) : null}::timestamptz, ${running ? ago(startedAgoS) : null}::timestamptz,
           ${final ? ago(finishedAgoS) : null}::timestamptz, ${lastError}::text,
           ${JSON.stringify(errors)}::text::jsonb, (${dedupeKey})::text
    from   generate_series(1, ${count}::int) as i
    returning id::float8 as id`;
  return inserted.map(({ id }) => id);
}

/** A row as Drizzle would give it. */
export type JobRow = typeof jobs.$inferSelect;

/** The row, or undefined when there is none. */
export async function row(sql: Sql, id: number): Promise<JobRow | undefined> {
  const [found] = await sql<JobRow[]>`
    select id::float8 as id, queue, kind, payload, payload_version as "payloadVersion", priority, run_at as "runAt",
           state, attempts, max_attempts as "maxAttempts", timeout_s as "timeoutS", locked_by as "lockedBy",
           heartbeat_at as "heartbeatAt", started_at as "startedAt", last_error as "lastError", errors,
           timeout_ms as "timeoutMs", dedupe_key as "dedupeKey", again, limit_key as "limitKey", meta, result, created_at as "createdAt",
           finished_at as "finishedAt"
    from   jobs
    where  id = ${id}`;
  return found;
}

/**
 * The row as Postgres prints it, to the microsecond and with the version it is: equal only when nothing has written
 * it, not even the same values.
 */
export async function verbatim(sql: Sql, id: number): Promise<string | undefined> {
  const [found] = await sql<{ text: string }[]>`
    select job::text || ' ' || job.xmin || ' ' || job.ctid as text from jobs as job where id = ${id}`;
  return found?.text;
}

/** Runs `work` while another transaction holds these rows, as a handler's open `complete(tx)` does; then rolls back. */
export async function whileHeld<Result>(
  sql: Sql,
  ids: readonly number[],
  work: (holder: Sql) => Promise<Result>,
): Promise<Result> {
  const holder = await sql.reserve();
  try {
    await holder`begin`;
    await holder`select 1 from jobs where id = any(${[...ids]}::bigint[]) for update`;
    return await work(holder);
  } finally {
    await holder`rollback`;
    holder.release();
  }
}

/** Nothing is rescued before the server has run for the job's `timeout_s`: for tests with `timeoutS: 1`. */
export async function untilServerHasRunFor(sql: Sql, seconds: number): Promise<void> {
  await until(
    async () => {
      const [age] = await sql<{ enough: boolean }[]>`
        select clock_timestamp() - pg_postmaster_start_time() > ${seconds}::float8 * interval '1 second' as enough`;
      return age?.enough;
    },
    { what: `the server to have run for ${seconds} s`, timeoutMs: seconds * 1_000 + 5_000 },
  );
}

/** From now on a claim waits, half-way, for whoever holds the advisory lock 1; `drop function claim_waits cascade` ends it. */
export async function claimsWait(sql: Sql): Promise<void> {
  await sql.unsafe(`
    create function claim_waits() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(1);
      return new;
    end $$;
    create trigger claim_waits before update on jobs for each row
      when (old.state = 'available' and new.state = 'running') execute function claim_waits()`);
}
