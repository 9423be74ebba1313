/** The `enqueue` move of a job with a dedupe key: nothing changes where the key is held. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { jsonb } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { holdsKey, unlessHeld } from './dedupe.js';
import { type KeyedAnswer, type KeyedJob, metaOf, runAt } from './enqueue.js';
import { mark } from './mark.js';
import { type JobNotification, type Notifications, notifiedOf } from './notify.js';

/**
 * Inserts the job, or names the one that holds its key. Undefined when that one came or went while the statement ran:
 * a statement sees what was there when it began, so the next one will know more.
 *
 * What is to be told with it goes out, when the transaction commits, only where the job was inserted. Never an update
 * that changes nothing, which would also answer: it locks the holder until the caller's transaction ends.
 */
export async function enqueueOnce(
  db: Executor,
  jobs: TableName,
  job: KeyedJob,
  notifications?: Notifications | JobNotification | undefined,
): Promise<KeyedAnswer | undefined> {
  const [row] = await rows(
    db,
    sql`
with inserted as (
  insert into ${jobs} ${mark} (queue, kind, payload, payload_version, priority, run_at, max_attempts, timeout_s, timeout_ms, meta, dedupe_key)
  values (${job.queue}, ${job.kind}, ${jsonb(job.payload)}, ${job.payloadVersion ?? 1}, ${job.priority}, ${runAt(job.when)},
          ${job.maxAttempts}, ${job.timeoutS}, ${job.timeoutMs ?? null}, ${metaOf(job)}, ${job.key})
  ${unlessHeld}
  returning id
)
select inserted.id, 0 as duplicate${notifications ? sql`, ${notifiedOf(notifications, sql`inserted.id`)} as notified` : sql``}
from   inserted
union all
select job.id, 1${notifications ? sql`, null` : sql``}
from   ${jobs} as job
where  job.kind = ${job.kind}::text and job.dedupe_key = ${job.key}::text and job.${holdsKey}
       and not exists (select 1 from inserted)`,
  );
  if (row === undefined) return undefined;
  const duplicate = numberOf(row['duplicate']) === 1;
  return { id: numberOf(row['id']), duplicate, news: !duplicate, lostIds: duplicate ? 1 : 0 };
}
