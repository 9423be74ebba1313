/**
 * The `claim` move: due jobs become running, most urgent first.
 *
 * Works on a queue by walking its distinct priorities from the top and locking due rows of each with
 * `skip locked`, until the queue's limit is filled. Plans and measurements behind every odd clause: ARCHITECTURE.md.
 * The SQL is ASCII, comments too: Postgres refuses text that the database's encoding does not have.
 */
import { type SQL, sql } from 'drizzle-orm';
import { queryOf } from '../database/client.js';
import type { Executor } from '../database/executor.js';
import { idArray, intArray, textArray } from '../database/parameters.js';
import { numberOf, type Row, rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';

/** The most jobs that one claim takes from one queue. */
export const largestClaim = 1_000;

/**
 * What is known of one priority of a queue: where to begin, in microseconds since 1970. A claim does not look at jobs of
 * this priority with a `run_at` before it: what lies there is dead rows, all but a few. 0 is no bound: all before 1970
 * is, also what is due since `-infinity`.
 */
export interface Level {
  readonly priority: number;
  readonly sinceUs: number;
}

export interface ClaimRequest {
  /** How many jobs to take from each queue, at most {@link largestClaim}. */
  readonly want: ReadonlyMap<string, number>;
  /** By queue. Other priorities are looked for, and at, as a whole. @default every priority is */
  readonly levels?: ReadonlyMap<string, readonly Level[]> | undefined;
  /** Jobs of other kinds are left as they are: another release of the app has their handlers. */
  readonly kinds: readonly string[];
  /** `<worker>/<n>`, never used before: the fence of everything that follows. */
  readonly lockedBy: string;
  /** Only these jobs. @default any */
  readonly among?: readonly number[] | undefined;
  /** Not these. @default none */
  readonly except?: readonly number[] | undefined;
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
}

export interface Claimed {
  readonly jobs: readonly ClaimedJob[];
  /** Ids of due jobs that Postgres did not let become running and gave no error for: a trigger returned null. */
  readonly refused: readonly number[];
  /** Where the claim ended in each priority that it took jobs from. */
  readonly ended: readonly (Level & { readonly queue: string })[];
  /** The database's clock, in microseconds since 1970. */
  readonly nowUs: number;
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
  let about: About = { nowUs: 0, bytes: 0, ended: null };
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
    nowUs: about.nowUs,
    tableBytes: about.bytes,
  };
}

function jobOf(row: Row, lockedBy: string): ClaimedJob {
  return {
    id: numberOf(row['id']),
    lockedBy,
    queue: textOf(row['queue']),
    kind: textOf(row['kind']),
    payload: JSON.parse(textOf(row['payload'])),
    attempt: numberOf(row['attempts']),
    maxAttempts: numberOf(row['maxAttempts']),
  };
}

/** What the last row of the answer tells in the place of a payload. */
interface About {
  readonly nowUs: number;
  readonly bytes: number;
  readonly ended: readonly [queue: string, priority: number, sinceUs: number][] | null;
}

function aboutOf(row: Row): About {
  return JSON.parse(textOf(row['payload']));
}

/** The ids of the jobs that {@link claim} would take now, without taking them. */
export async function findNext(
  db: Executor,
  jobs: TableName,
  request: Omit<ClaimRequest, 'lockedBy'>,
): Promise<number[]> {
  const found = await rows(db, sql`${next(jobs, request)} select next.id from next`);
  return found.map((row) => numberOf(row['id']));
}

/** The very statement that {@link claim} sends; the plan tests explain it. */
export function claimStatement(jobs: TableName, { lockedBy, ...request }: ClaimRequest): SQL {
  const queues = textArray([...request.want.keys()]);
  return sql`${next(jobs, request)},
claimed as (
  update ${jobs} as job
  set    state        = 'running',
         locked_by    = ${lockedBy},
         heartbeat_at = clock_timestamp(),
         started_at   = clock_timestamp(),
         attempts     = least(job.attempts, 2147483646) + 1  -- one row out of range would fail the claim of all
  where  job.id = any(array(select next.id from next))  -- an array: as a join it reads the whole table after analyze
  returning job.id, job.queue, job.kind, job.payload, job.attempts, job.max_attempts, job.priority, job.run_at
),
answer as (
  select claimed.* from claimed
  union all
  select next.id, null, null, null, null, null, null, null
  from   next
  where  (select count(*) from next) > (select count(*) from claimed)  -- usually not, and then nothing is hashed
    and  coalesce(next.id not in (select claimed.id from claimed), false)  -- coalesce: one hash table, not a join
  union all
  select null, null, null, ${about(jobs)}, null, null, null, null
)
-- "maxAttempts", and payload as text: a client may rename columns, and keys in json as well (postgres.js has transforms)
select answer.id, answer.queue, answer.kind, answer.payload::text, answer.attempts, answer.max_attempts as "maxAttempts"
from   answer  -- the update does not keep the order
order  by pg_catalog.array_position(${queues}, answer.queue), answer.priority desc, answer.run_at, answer.id`;
}

function about(jobs: TableName): SQL {
  return sql`pg_catalog.jsonb_build_object(
           'nowUs', (extract(epoch from now())::float8 * 1000000::float8)::bigint,
           'bytes', pg_catalog.pg_relation_size(${queryOf(jobs).text}::text::regclass),
           'ended', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(ended.queue, ended.priority, ended.since))
                     from   (select next.queue, next.priority,
                                    (extract(epoch from greatest(max(next.run_at), 'epoch'))::float8 * 1000000::float8)::bigint as since
                             from   next
                             group  by next.queue, next.priority) as ended))`;
}

/** A priority above and one below all that there are. */
const [above, below] = [sql.raw('32768'), sql.raw('-32769')];

/** `with …` up to the jobs to take, which it locks. */
function next(jobs: TableName, { want, levels, kinds, among, except }: Omit<ClaimRequest, 'lockedBy'>): SQL {
  // One that ended at a job due since before 1970 ended nowhere: there may be more of these.
  const known = [...want.keys()].map(
    (queue) => levels?.get(queue)?.filter(({ sinceUs }) => sinceUs > 0) ?? [],
  );
  const priorities = known.map((list) => `{${list.map(({ priority }) => priority).join(',')}}`);
  const since = known.map((list) => `{${list.map(({ sinceUs }) => sinceUs).join(',')}}`);
  return sql`
with want as (
  select want.queue, want.n, want.priorities::int[] as priorities, want.since::bigint[] as since
  -- Selects: the estimate is that of unknown lists, so a plan for all values is as good, and is kept.
  from   unnest((select ${textArray([...want.keys()])}), (select ${intArray([...want.values()])}),
                (select ${textArray(priorities)}), (select ${textArray(since)})) as want(queue, n, priorities, since)
),
next as materialized (  -- materialized: inlined into the update it could lock more rows than its limit
  select due.id, want.queue, due.priority, due.run_at
  from   want
  cross join lateral (  -- a scan per queue: one of all queues would sort every waiting job
    -- The distinct priorities, so that future jobs of a high one do not lie in the way. Bounds are columns of it: as
    -- expressions they would be kept from the index where the table has row-level security.
    with recursive level(priority, since) as (
      select ${above}, null::timestamptz
      union all
      select found.priority,
             coalesce(timestamptz 'epoch' + interval '1 microsecond'
                      * want.since[pg_catalog.array_position(want.priorities, found.priority)]::float8, '-infinity')
      from   level
      cross join lateral (
        select coalesce(max(known.priority), ${below}) as priority
        from   unnest(want.priorities) as known(priority)
        where  known.priority < level.priority
      ) as known
      cross join lateral (
        select coalesce(  -- a known one is not looked for, only others above it: dead rows do not lie in the way
                 (select job.priority
                  from   ${jobs} as job
                  where  job.state = 'available' and job.queue = want.queue
                    and  job.priority < level.priority and job.priority > known.priority
                  order  by job.priority desc
                  limit  1),
                 known.priority) as priority
        offset 0  -- else it is looked for twice, once for each column of level
      ) as found
      where  level.priority > ${below}
    )
    select candidate.id, candidate.priority, candidate.run_at
    from   level
    cross join lateral (
      select job.id, job.priority, job.run_at
      from   ${jobs} as job
      where  job.state = 'available' and job.queue = want.queue and job.priority = level.priority
        and  job.run_at >= level.since
        and  job.run_at <= now()
        and  coalesce(job.kind = any((select ${textArray(kinds)})::text[]), false)  -- coalesce: statistics of rare kinds flip the plan
        ${among ? sql`and job.id = any(${idArray(among)})` : sql``}
        ${except && except.length > 0 ? sql`and job.id <> all(${idArray(except)})` : sql``}
      order  by job.run_at, job.id
      limit  ${sql.raw(String(largestClaim))}  -- a constant, for the planner's estimate; else JIT compiles for 300 ms
      for update skip locked
    ) as candidate
    where  level.priority between -32768 and 32767  -- drops the first and the last, and estimates one level, not 101
    limit  want.n
  ) as due
)`;
}
