/** Jobs whose heartbeat is too old, and which are not dead yet since the server has just started. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';

/** In how many ms the first of them is dead, unless its worker renews it by then; undefined where there is none. */
export async function deadSoonInMs(db: Executor, jobs: TableName): Promise<number | undefined> {
  const [row] = await rows(
    db,
    sql`
with aged as (
  select job.timeout_s::float8 - extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float8 as left_s
  from   ${jobs} as job
  where  job.state = 'running'
    and  job.heartbeat_at < clock_timestamp() - job.timeout_s::float8 * ${'1 second'}::interval
)
select min(aged.left_s) * 1000::float8 as ms
from   aged
where  aged.left_s >= 0`,
  );
  return row?.['ms'] == null ? undefined : numberOf(row['ms']);
}
