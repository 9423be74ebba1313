/** The `enqueue` move of a job with a dedupe key, of which there is at most one in a period, also when it has ended before. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { jsonb } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { holdsKey, unlessHeld } from './dedupe.js';
import { type KeyedAnswer, type KeyedJob, metaOf, runAt } from './enqueue.js';
import { type JobNotification, type Notifications, notifiedOf } from './notify.js';

export interface ThrottledJob extends KeyedJob {
  /** From the call: how long no other of its key comes. */
  readonly periodMs: number;
}

/**
 * Inserts the job, or names the one of the period, which may be gone; where that period is over, the one that holds the key
 * all the same. Undefined where the next one will know more: when one of these came or went while the statement ran, and for
 * the first job of a key, which has only made the row by which enqueues of that key wait for each other.
 *
 * That row first, since a job is to be inserted only by whoever has it, and the row can only then be told the job's id: a
 * statement changes a row once. It is locked until the caller's transaction ends, but not by those who meet a period that has
 * begun: many transactions may, and would come one after another.
 *
 * What is to be told with it goes out, when the transaction commits, only where the job was inserted.
 */
export async function enqueueThrottled(
  db: Executor,
  jobs: TableName,
  throttle: TableName,
  job: ThrottledJob,
  notifications?: Notifications | JobNotification | undefined,
): Promise<KeyedAnswer | undefined> {
  const { kind, key } = job;
  const [row] = await rows(
    db,
    sql`
with closed as materialized (  -- statement_timestamp: one time for all of this
  select slot.job_id
  from   ${throttle} as slot
  where  slot.kind = ${kind}::text and slot.key = ${key}::text and slot.until > statement_timestamp()
),
open as materialized (  -- none when another took it while this waited
  select slot.kind
  from   ${throttle} as slot
  where  slot.kind = ${kind}::text and slot.key = ${key}::text and slot.until <= statement_timestamp()
  for update
),
made as (
  insert into ${throttle} (kind, key, until)
  select ${kind}::text, ${key}::text, 'epoch'::timestamptz
  where  not exists (select 1 from closed) and not exists (select 1 from open)
  on conflict (kind, key) do nothing
),
inserted as (
  insert into ${jobs} (queue, kind, payload, payload_version, priority, run_at, max_attempts, timeout_s, timeout_ms, meta, dedupe_key)
  select ${job.queue}::text, open.kind, ${jsonb(job.payload)}, ${job.payloadVersion ?? 1}::smallint, ${job.priority}::smallint,
         ${runAt(job.when)}, ${job.maxAttempts}::int, ${job.timeoutS}::int, ${job.timeoutMs ?? null}::int, ${metaOf(job)}::jsonb,
         ${key}::text
  from   open
  ${unlessHeld}
  returning id
),
taken as (
  update ${throttle} as slot
  set    until = statement_timestamp() + ${job.periodMs}::float8 * interval '1 millisecond', job_id = inserted.id
  from   inserted
  where  slot.kind = ${kind}::text and slot.key = ${key}::text
)
select inserted.id, 0 as duplicate, 0 as lost${notifications ? sql`, ${notifiedOf(notifications, sql`inserted.id`)} as notified` : sql``}
from   inserted
union all
select closed.job_id, 1, 0${notifications ? sql`, null` : sql``}
from   closed
union all
select job.id, 1, 1${notifications ? sql`, null` : sql``}
from   ${jobs} as job
where  job.kind = ${kind}::text and job.dedupe_key = ${key}::text and job.${holdsKey}
       and exists (select 1 from open) and not exists (select 1 from inserted)`,
  );
  if (row === undefined) return undefined;
  const duplicate = numberOf(row['duplicate']) === 1;
  return { id: numberOf(row['id']), duplicate, news: !duplicate, lostIds: numberOf(row['lost']) };
}
