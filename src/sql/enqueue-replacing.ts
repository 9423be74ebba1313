/** The `enqueue` move of a job with a dedupe key: a job that holds the key and waits becomes this one. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { jsonb } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { holdsKey, unlessHeld } from './dedupe.js';
import { type KeyedAnswer, type KeyedJob, metaOf, runAt } from './enqueue.js';
import { mark } from './mark.js';
import { type JobNotification, type Notifications, notifiedOf } from './notify.js';

export interface ReplacingJob extends KeyedJob {
  /** It runs no later than so long after it came into being. */
  readonly maxWaitMs: number | undefined;
}

/**
 * Inserts the job, or gives what it says to the one that waits under its key, or names the one that runs. Undefined
 * when that one came, went or was claimed while the statement ran: the next one will know more.
 *
 * A job that waits for a retry keeps its time. One that waits is locked until the caller's transaction ends. One that runs
 * is not, unless it is claimed at that very moment: `do update … where state = 'available'` would always lock it, and its
 * finish would wait.
 *
 * What is to be told with it goes out, when the transaction commits, where the job was inserted or is due sooner now.
 */
export async function enqueueReplacing(
  db: Executor,
  jobs: TableName,
  job: ReplacingJob,
  notifications?: Notifications | JobNotification | undefined,
): Promise<KeyedAnswer | undefined> {
  const { kind, key, maxWaitMs = null } = job;
  const [row] = await rows(
    db,
    sql`
with new as materialized (
  select ${job.queue}::text as queue, ${jsonb(job.payload)} as payload, ${job.payloadVersion ?? 1}::smallint as payload_version,
         ${job.priority}::smallint as priority, ${runAt(job.when)} as run_at, ${job.maxAttempts}::int as max_attempts,
         ${job.timeoutS}::int as timeout_s, ${job.timeoutMs ?? null}::int as timeout_ms, ${metaOf(job)}::jsonb as meta,
         ${maxWaitMs}::float8 * interval '1 millisecond' as max_wait
),
waiting as materialized (
  select job.id, job.queue, job.run_at
  from   ${jobs} as job
  where  job.kind = ${kind}::text and job.dedupe_key = ${key}::text and job.${holdsKey}
         and coalesce(job.state = 'available', false)  -- coalesce: or the index of the claims may be read instead
  for update
),
replaced as (
  update ${jobs} as job
  set    queue           = new.queue,
         payload         = new.payload,
         payload_version = new.payload_version,
         priority        = new.priority,
         max_attempts    = new.max_attempts,
         timeout_s       = new.timeout_s,
         timeout_ms      = new.timeout_ms,
         meta            = new.meta,
         run_at          = case when job.attempts > 0 then job.run_at else least(new.run_at, job.created_at + new.max_wait) end
  from   waiting cross join new
  where  job.id = waiting.id
  returning job.id, (job.run_at < waiting.run_at or job.queue <> waiting.queue)::int as news
),
inserted as (
  insert into ${jobs} ${mark} (queue, kind, payload, payload_version, priority, run_at, max_attempts, timeout_s, timeout_ms, meta, dedupe_key)
  select new.queue, ${kind}::text, new.payload, new.payload_version, new.priority, least(new.run_at, now() + new.max_wait),
         new.max_attempts, new.timeout_s, new.timeout_ms, new.meta, ${key}::text
  from   new
  where  not exists (select 1 from replaced)
  ${unlessHeld}
  returning id
),
answer as (
  select inserted.id, 0 as duplicate, 1 as news, 0 as lost from inserted
  union all
  select replaced.id, 1, replaced.news, 0 from replaced
  union all
  select job.id, 1, 0, 1
  from   ${jobs} as job
  where  job.kind = ${kind}::text and job.dedupe_key = ${key}::text and job.${holdsKey} and coalesce(job.state = 'running', false)
         and not exists (select 1 from inserted) and not exists (select 1 from replaced)
)
select answer.id, answer.duplicate, answer.news, answer.lost${notifications ? sql`, case when answer.news = 1 then ${notifiedOf(notifications, sql`answer.id`)} end as notified` : sql``}
from   answer`,
  );
  if (row === undefined) return undefined;
  return {
    id: numberOf(row['id']),
    duplicate: numberOf(row['duplicate']) === 1,
    news: numberOf(row['news']) === 1,
    lostIds: numberOf(row['lost']),
  };
}
