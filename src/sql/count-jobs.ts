/** How many jobs there are, of each queue and kind. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { JobCounts } from '../words/job-counts.js';
import { conditionsOf, fits, type JobFilter } from './job-filter.js';
import { timeText } from './job-json.js';

interface CountsText extends Omit<JobCounts, 'oldestDueAt'> {
  readonly oldestDueAt: string | null;
}

/** Far more than any app has of queues and kinds. */
const mostLines = 100_000;

/** One line for each queue and kind of which there is a job, in the order of their names. */
export async function countJobs(db: Executor, jobs: TableName, filter: JobFilter): Promise<JobCounts[]> {
  const counted = await rows(
    db,
    sql`
with clock as materialized (  -- one time for all; not now(), which is when the transaction began
  select clock_timestamp() as time
),
counted as (
  select job.queue, job.kind,
         count(*) filter (where job.state = 'available' and job.run_at <= (select clock.time from clock))                      as due,
         count(*) filter (where job.state = 'available' and job.run_at > (select clock.time from clock) and job.attempts = 0)  as scheduled,
         count(*) filter (where job.state = 'available' and job.run_at > (select clock.time from clock) and job.attempts <> 0) as retrying,
         count(*) filter (where job.state = 'running')   as running,
         count(*) filter (where job.state = 'completed') as completed,
         count(*) filter (where job.state = 'discarded') as discarded,
         count(*) filter (where job.state = 'cancelled') as cancelled,
         min(job.run_at) filter (where job.state = 'available' and job.run_at <= (select clock.time from clock)) as oldest_due_at
  from   ${jobs} as job
  where  ${fits(conditionsOf(filter))}
  group  by job.queue, job.kind
)
select pg_catalog.jsonb_build_object(
         'queue',       counted.queue,
         'kind',        counted.kind,
         'due',         counted.due,
         'scheduled',   counted.scheduled,
         'retrying',    counted.retrying,
         'running',     counted.running,
         'completed',   counted.completed,
         'discarded',   counted.discarded,
         'cancelled',   counted.cancelled,
         'oldestDueAt', ${timeText(sql`counted.oldest_due_at`)})::text as counted
from   counted
order  by counted.queue collate pg_catalog."C", counted.kind collate pg_catalog."C"
limit  ${mostLines}::int`,
  );
  return counted.map((row) => {
    const counts: CountsText = JSON.parse(textOf(row['counted']));
    const { oldestDueAt } = counts;
    return { ...counts, oldestDueAt: oldestDueAt === null ? null : new Date(oldestDueAt) };
  });
}
