/**
 * What a claim takes: the walk over a queue's priorities and due jobs, and when the next job falls due that does not yet.
 *
 * The SQL is ASCII, comments too: Postgres refuses text that the database's encoding does not have.
 */
import { type SQL, sql } from 'drizzle-orm';
import { arrayLiteral, textArrayLiteral } from '../database/parameters.js';
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

/** Which jobs a worker can run. */
export interface Served {
  /** Jobs of other kinds are left as they are: another release of the app has their handlers. */
  readonly kinds: readonly string[];
  /** Of each of the kinds, the newest version of its payloads; jobs of newer ones are left as well. @default any */
  readonly versions?: readonly number[] | undefined;
}

/** Which jobs to take. */
export interface Wanted extends Served {
  /** How many jobs to take from each queue, at most {@link largestClaim}. */
  readonly want: ReadonlyMap<string, number>;
  /** By queue. Other priorities are looked for, and at, as a whole. @default every priority is */
  readonly levels?: ReadonlyMap<string, readonly Level[]> | undefined;
  /** Only these jobs. @default any */
  readonly among?: readonly number[] | undefined;
  /** Not these. @default none */
  readonly except?: readonly number[] | undefined;
}

/** No row has a newer one. */
const newestVersion = 32_767;

/** A priority above and one below all that there are. */
const [above, below] = [sql.raw('32768'), sql.raw('-32769')];

/** What the SQL of {@link next} is like: it depends on which lists there are, not on what is in them. */
export interface NextShape {
  readonly among: boolean;
  readonly except: boolean;
}

export function shapeOf({ among, except = [] }: Wanted): NextShape {
  return { among: among !== undefined, except: except.length > 0 };
}

/** The values of {@link next}, all of them the text of an array. */
export function valuesOf({
  want,
  levels,
  among = [],
  except = [],
  ...served
}: Wanted): Record<NextValue, string> {
  // One that ended at a job due since before 1970 ended nowhere: there may be more of these.
  const known = [...want.keys()].map(
    (queue) => levels?.get(queue)?.filter(({ sinceUs }) => sinceUs > 0) ?? [],
  );
  return {
    queues: textArrayLiteral([...want.keys()]),
    counts: arrayLiteral([...want.values()]),
    priorities: textArrayLiteral(known.map((list) => arrayLiteral(list.map(({ priority }) => priority)))),
    since: textArrayLiteral(known.map((list) => arrayLiteral(list.map(({ sinceUs }) => sinceUs)))),
    ...servedValues(served),
    among: arrayLiteral(among),
    except: arrayLiteral(except),
  };
}

export type NextValue =
  | 'queues'
  | 'counts'
  | 'priorities'
  | 'since'
  | 'kinds'
  | 'versions'
  | 'among'
  | 'except';

/** `with …` up to `next`, the jobs to take, which it locks. */
export function next(jobs: TableName, { among, except }: NextShape, value: (name: NextValue) => SQL): SQL {
  return sql`
with want as (
  select want.queue, want.n, want.priorities::int[] as priorities, want.since::bigint[] as since
  -- Selects: the estimate is that of unknown lists, so a plan for all values is as good, and is kept.
  from   unnest((select ${value('queues')}::text::text[]), (select ${value('counts')}::text::int[]),
                (select ${value('priorities')}::text::text[]), (select ${value('since')}::text::text[])) as want(queue, n, priorities, since)
),
next as materialized (  -- materialized: inlined into the update it could lock more rows than its limit
  select due.id, want.queue, due.priority, due.run_at
  from   want
  cross join lateral (  -- a scan per queue: one of all queues would sort every waiting job
    ${levelsOf(jobs)}
    select candidate.id, candidate.priority, candidate.run_at
    from   level
    cross join lateral (
      select job.id, job.priority, job.run_at
      from   ${jobs} as job
      where  job.state = 'available' and job.queue = want.queue and job.priority = level.priority
        and  job.run_at >= level.since
        and  job.run_at <= now()
        and  ${isServed(sql`job`, value)}
        ${among ? sql`and job.id = any(${value('among')}::text::bigint[])` : sql``}
        ${except ? sql`and job.id <> all(${value('except')}::text::bigint[])` : sql``}
      order  by job.run_at, job.id
      -- Not want.n, for which JIT compiles for 300 ms; and a select, or where less is expected the whole queue is read and sorted.
      limit  (select ${sql.raw(String(largestClaim))})
      for update skip locked
    ) as candidate
    where  level.priority between -32768 and 32767  -- drops the first and the last, and estimates one level, not 101
    limit  want.n
  ) as due
)`;
}

/** Whether a row is of one of the kinds, and of no newer version than is known of it. */
export function isServed(row: SQL, value: (name: 'kinds' | 'versions') => SQL): SQL {
  const kinds = sql`(select ${value('kinds')}::text::text[])`;
  const versions = sql`(select ${value('versions')}::text::int[])`;
  // coalesce, around all of it: the statistics of rare kinds flip the plan. And 1 before the look into the lists: it is what
  // most rows have, and every kind takes it.
  return sql`coalesce(${row}.kind = any(${kinds}::text[])
                      and (${row}.payload_version = 1 or
                           ${row}.payload_version <= ${versions}[pg_catalog.array_position(${kinds}, ${row}.kind::text)]), false)`;
}

/** The values of it. */
export function servedValues({ kinds, versions }: Served): {
  readonly [Name in 'kinds' | 'versions']: string;
} {
  return {
    kinds: textArrayLiteral(kinds),
    versions: arrayLiteral(versions ?? kinds.map(() => newestVersion)),
  };
}

/**
 * `with recursive level`: the distinct priorities of the queue of a line of `want`, so that future jobs of a high one do not
 * lie in the way. Bounds are columns of it: as expressions they would be kept from the index where the table has row-level
 * security.
 */
function levelsOf(jobs: TableName): SQL {
  return sql`with recursive level(priority, since) as (
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
    )`;
}

/**
 * A line for each queue of `want` in which `next` found less than that: when the next job that waits there falls due, of
 * whatever kind.
 */
export function nextDue(jobs: TableName): SQL {
  return sql`
select want.queue, min(future.run_at) as run_at
from   want
left   join (select next.queue, count(*) as n from next group by next.queue) as found on found.queue = want.queue
cross join lateral (
  ${levelsOf(jobs)}
  select waiting.run_at
  from   level
  cross join lateral (  -- not by min(), whose estimate of a scan makes JIT compile
    select job.run_at
    from   ${jobs} as job
    where  job.state = 'available' and job.queue = want.queue and job.priority = level.priority
      and  job.run_at > now()
    order  by job.run_at
    limit  1
  ) as waiting
  where  level.priority between -32768 and 32767
) as future
where  want.n > coalesce(found.n, 0)  -- else nothing is looked for: there is more that is due
group  by want.queue`;
}
