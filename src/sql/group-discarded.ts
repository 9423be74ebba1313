/** The jobs that were discarded, in groups of the same kind and much the same error. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { DeadLetterGroup } from '../words/dead-letters.js';
import { conditionsOf, fits, type JobFilter } from './job-filter.js';
import { timeText } from './job-json.js';

/** How many ids of each group are named: the latest. */
const idsNamed = 10;
/** Of the first line of an error. */
const mostCharacters = 300;

/**
 * What differs between errors of one cause: UUIDs, hexadecimal numbers, numbers of four digits and more. Shorter ones may be
 * what the error is about: a status, a SQLSTATE.
 */
const differing = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0[xX][0-9a-fA-F]+|[0-9]{4,}';

interface GroupText extends Omit<DeadLetterGroup, 'firstAt' | 'lastAt'> {
  readonly firstAt: string;
  readonly lastAt: string;
}

/** So many groups at most, the largest first. */
export async function groupDiscarded(
  db: Executor,
  jobs: TableName,
  filter: JobFilter,
  limit: number,
): Promise<DeadLetterGroup[]> {
  const groups = await rows(
    db,
    sql`
with discarded as (
  select job.id, job.kind, job.finished_at,
         pg_catalog.regexp_replace(left(split_part(said.error, chr(10), 1), ${mostCharacters}::int),
                                   ${differing}::text, '#'::text, 'g'::text) as error
  from   ${jobs} as job
  cross join lateral (
    -- the brief text of the last attempt: of a failed query, what Postgres said, where last_error begins with the query
    select coalesce(job.errors -> -1 ->> 'error'::text, job.last_error) as error
  ) as said
  where  ${fits(conditionsOf({ ...filter, state: 'discarded' }))}
),
grouped as (
  select discarded.kind, discarded.error, count(*) as n, min(discarded.finished_at) as first_at, max(discarded.finished_at) as last_at,
         (pg_catalog.array_agg(discarded.id order by discarded.finished_at desc, discarded.id desc))[1:${sql.raw(String(idsNamed))}] as ids
  from   discarded
  group  by discarded.kind, discarded.error
)
select pg_catalog.jsonb_build_object(
         'kind',    grouped.kind,
         'error',   grouped.error,
         'count',   grouped.n,
         'firstAt', ${timeText(sql`grouped.first_at`)},
         'lastAt',  ${timeText(sql`grouped.last_at`)},
         'ids',     grouped.ids)::text as grouped
from   grouped
order  by grouped.n desc, grouped.last_at desc, grouped.kind, grouped.error
limit  ${limit}::int`,
  );
  return groups.map((row) => {
    const group: GroupText = JSON.parse(textOf(row['grouped']));
    return { ...group, firstAt: new Date(group.firstAt), lastAt: new Date(group.lastAt) };
  });
}
