/**
 * The `claim` move: due jobs become running, most urgent first.
 *
 * Works on a queue by walking its distinct priorities from the top and locking due rows of each with
 * `skip locked`, until the queue's limit is filled. Plans and measurements behind every odd clause: ARCHITECTURE.md.
 * The SQL is ASCII, comments too: Postgres refuses text that the database's encoding does not have.
 */
import { type SQL, sql } from 'drizzle-orm';
import { queryOf } from '../database/client.js';
import { compiled } from '../database/compiled.js';
import type { Executor } from '../database/executor.js';
import { numberOf, type Row, rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import {
  type Level,
  type NextShape,
  type NextValue,
  next,
  nextDue,
  shapeOf,
  valuesOf,
  type Wanted,
} from './claim-next.js';

export interface ClaimRequest extends Wanted {
  /** `<worker>/<n>`, never used before: the fence of everything that follows. */
  readonly lockedBy: string;
  /** Whether to tell when the next jobs fall due: it costs a quarter more. @default false */
  readonly due?: boolean | undefined;
}

export interface ClaimedJob {
  readonly id: number;
  readonly lockedBy: string;
  readonly queue: string;
  readonly kind: string;
  readonly payload: unknown;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly payloadVersion: number;
  /** The handler's time limit where the row has one. */
  readonly timeoutMs: number | undefined;
  readonly meta: { readonly [key: string]: unknown } | undefined;
}

export interface Claimed {
  readonly jobs: readonly ClaimedJob[];
  /** Ids of due jobs that Postgres did not let become running and gave no error for: a trigger returned null. */
  readonly refused: readonly number[];
  /** Where the claim ended in each priority that it took jobs from. */
  readonly ended: readonly (Level & { readonly queue: string })[];
  /**
   * Where that was asked, of each queue that had fewer due jobs than wanted: when the next one that waits falls due, in microseconds since 1970.
   * A queue in which none waits is not in it.
   */
  readonly dueUs: ReadonlyMap<string, number>;
  /** The database's clock, in microseconds since 1970. */
  readonly nowUs: number;
  /** How long Postgres took, in ms. */
  readonly tookMs: number;
  /** The size of the table. */
  readonly tableBytes: number;
}

/**
 * Claims up to the wanted number of due jobs of each queue and gives them in the order they should start: by queue
 * as asked, then priority, `run_at`, id. Never waits for a row that someone else holds.
 *
 * One row that the database refuses (an app's trigger or CHECK) fails the whole statement with an SQLSTATE that
 * `isRowFault` knows: then {@link findNext} names the rows, to be claimed in parts.
 */
export async function claim(db: Executor, jobs: TableName, request: ClaimRequest): Promise<Claimed> {
  const claimed: ClaimedJob[] = [];
  const refused: number[] = [];
  let about: About = { nowUs: 0, tookMs: 0, bytes: 0, ended: null };
  for (const row of await rows(db, claimStatement(jobs, request))) {
    if (row['id'] == null) about = aboutOf(row);
    else if (row['queue'] == null) refused.push(numberOf(row['id']));
    else claimed.push(jobOf(row, request.lockedBy));
  }
  const ended = about.ended ?? [];
  return {
    jobs: claimed,
    refused,
    ended: ended.map(([queue, priority, sinceUs]) => ({ queue, priority, sinceUs })),
    dueUs: new Map(about.due ?? []),
    nowUs: about.nowUs,
    tookMs: about.tookMs,
    tableBytes: about.bytes,
  };
}

/** Of a row under the names that the statements of claims give. */
export function jobOf(row: Row, lockedBy: string): ClaimedJob {
  return {
    id: numberOf(row['id']),
    lockedBy,
    queue: textOf(row['queue']),
    kind: textOf(row['kind']),
    payload: JSON.parse(textOf(row['payload'])),
    attempt: numberOf(row['attempts']),
    maxAttempts: numberOf(row['maxAttempts']),
    payloadVersion: numberOf(row['payloadVersion']),
    timeoutMs: row['timeoutMs'] == null ? undefined : numberOf(row['timeoutMs']),
    meta: row['meta'] == null ? undefined : objectOf(JSON.parse(textOf(row['meta']))),
  };
}

/** Plain SQL may have put something else there. */
function objectOf(json: unknown): ClaimedJob['meta'] {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? { ...json } : undefined;
}

/** What the last row of the answer tells in the place of a payload. */
interface About {
  readonly nowUs: number;
  readonly tookMs: number;
  readonly bytes: number;
  readonly ended: readonly [queue: string, priority: number, sinceUs: number][] | null;
  readonly due?: readonly [queue: string, dueUs: number][] | null;
}

function aboutOf(row: Row): About {
  return JSON.parse(textOf(row['payload']));
}

/** The ids of the jobs that {@link claim} would take now, without taking them. */
export async function findNext(db: Executor, jobs: TableName, request: Wanted): Promise<number[]> {
  const find = compiled<NextValue>(
    (value) => sql`${next(jobs, shapeOf(request), value)} select next.id from next`,
  );
  const found = await rows(db, find(valuesOf(request)));
  return found.map((row) => numberOf(row['id']));
}

/** The very statement that {@link claim} sends; the plan tests explain it. */
export function claimStatement(jobs: TableName, { lockedBy, due = false, ...request }: ClaimRequest): SQL {
  const shape = shapeOf(request);
  const statements = statementsOf.get(jobs) ?? new Map();
  statementsOf.set(jobs, statements);
  const key = JSON.stringify([due, shape]);
  const statement = statements.get(key) ?? compiled((value) => claimSql(jobs, { due, ...shape }, value));
  statements.set(key, statement);
  return statement({ lockedBy, table: queryOf(jobs).text, ...valuesOf(request) });
}

type ClaimValue = NextValue | 'lockedBy' | 'table';

/** By table, and by what they ask. */
const statementsOf = new WeakMap<TableName, Map<string, ReturnType<typeof compiled<ClaimValue>>>>();

function claimSql(
  jobs: TableName,
  { due, ...shape }: NextShape & { readonly due: boolean },
  value: (name: ClaimValue) => SQL,
): SQL {
  return sql`${next(jobs, shape, value)},
claimed as (
  update ${jobs} as job
  set    state        = 'running',
         locked_by    = ${value('lockedBy')},
         heartbeat_at = clock_timestamp(),
         started_at   = clock_timestamp(),
         attempts     = least(job.attempts, 2147483646) + 1  -- one row out of range would fail the claim of all
  where  job.id = any(array(select next.id from next))  -- an array: as a join it reads the whole table after analyze
  returning job.id, job.queue, job.kind, job.payload, job.attempts, job.max_attempts, job.payload_version, job.timeout_ms, job.meta,
            job.priority, job.run_at
),
answer as (
  select claimed.* from claimed
  union all
  select next.id, null, null, null, null, null, null, null, null, null, null
  from   next
  where  (select count(*) from next) > (select count(*) from claimed)  -- usually not, and then nothing is hashed
    and  coalesce(next.id not in (select claimed.id from claimed), false)  -- coalesce: one hash table, not a join
  union all
  select null, null, null, ${about(jobs, due, value)}, null, null, null, null, null, null, null
)
-- "maxAttempts", and json as text: a client may rename columns, and keys in json as well (postgres.js has transforms)
select answer.id, answer.queue, answer.kind, answer.payload::text, answer.attempts, answer.max_attempts as "maxAttempts",
       answer.payload_version as "payloadVersion", answer.timeout_ms as "timeoutMs", answer.meta::text
from   answer  -- the update does not keep the order
order  by pg_catalog.array_position(${value('queues')}::text::text[], answer.queue::text), answer.priority desc, answer.run_at, answer.id`;
}

function about(jobs: TableName, due: boolean, value: (name: ClaimValue) => SQL): SQL {
  return sql`pg_catalog.jsonb_build_object(
           'nowUs', ${microseconds(sql`now()`)},
           'tookMs', (extract(epoch from clock_timestamp() - now())::float8 * 1000::float8)::float4,
           'bytes', pg_catalog.pg_relation_size(${value('table')}::text::regclass),
           'ended', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(ended.queue, ended.priority, ended.since))
                     from   (select next.queue, next.priority,
                                    ${microseconds(sql`greatest(max(next.run_at), 'epoch')`)} as since
                             from   next
                             group  by next.queue, next.priority) as ended)
           ${due ? dueOf(jobs) : sql``})`;
}

function dueOf(jobs: TableName): SQL {
  return sql`, 'due', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(waiting.queue, ${microseconds(sql`least(waiting.run_at, timestamptz '9999-12-31')`)}))
                     from   (${nextDue(jobs)}) as waiting)`;
}

/** A time as whole microseconds since 1970. */
function microseconds(time: SQL): SQL {
  return sql`(extract(epoch from ${time})::float8 * 1000000::float8)::bigint`;
}
