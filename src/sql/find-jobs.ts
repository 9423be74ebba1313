/** A page of jobs, by their ids. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { conditionsOf, fits, type JobFilter } from './job-filter.js';
import { jobJson, type ReadJob, readJob } from './job-json.js';

/** As they lie in the table; a page that has more ends early, so that a list of large payloads fits into memory. */
const mostBytes = 4_000_000;

export interface PageRequest {
  readonly filter: JobFilter;
  readonly newestFirst: boolean;
  /** How many jobs at most. */
  readonly limit: number;
  /** Behind the job of this id. */
  readonly after: number | undefined;
}

export interface Page {
  readonly jobs: readonly ReadJob[];
  /** Whether there are jobs behind the last. */
  readonly more: boolean;
}

/** One job at least, if there is one that fits. */
export async function findJobs(db: Executor, jobs: TableName, request: PageRequest): Promise<Page> {
  const { filter, newestFirst, limit, after } = request;
  const direction = newestFirst ? sql`desc` : sql`asc`;
  const behind = newestFirst ? sql`job.id < ${after}::bigint` : sql`job.id > ${after}::bigint`;
  const conditions = [...conditionsOf(filter), ...(after === undefined ? [] : [behind])];
  const found = await rows(
    db,
    sql`
with page as materialized (  -- one more than asked for: whether there are more
  select job.id, size.bytes
  from   ${jobs} as job
  cross join lateral (
    select pg_catalog.pg_column_size(job.payload) + pg_catalog.pg_column_size(job.errors)
           + coalesce(pg_catalog.pg_column_size(job.result), 0) + coalesce(pg_catalog.pg_column_size(job.last_error), 0) as bytes
  ) as size
  where  ${fits(conditions)}
  order  by job.id ${direction}
  limit  ${limit + 1}::int
),
placed as materialized (
  select page.id, row_number() over up_to as place, sum(page.bytes) over up_to as bytes
  from   page
  window up_to as (order by page.id ${direction})
),
taken as materialized (
  select placed.id
  from   placed
  where  placed.place = 1 or (placed.place <= ${limit}::int and placed.bytes <= ${mostBytes}::int)
)
select ${jobJson} as job, (select count(*) from page) as found
from   ${jobs} as job
where  job.id = any(array(select taken.id from taken))
order  by job.id ${direction}`,
  );
  const [first] = found;
  return {
    jobs: found.map((row) => readJob(row['job'])),
    more: first !== undefined && found.length < numberOf(first['found']),
  };
}
