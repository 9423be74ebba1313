/** The `enqueue` move: jobs come into being, in the caller's transaction. */
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { jsonb } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { When } from '../words/outcome.js';
import { mark } from './mark.js';
import { type JobNotification, type Notifications, notifiedOf } from './notify.js';

/** A job that has passed every check. */
export interface NewJob {
  readonly queue: string;
  readonly kind: string;
  /** JSON text. */
  readonly payload: string;
  readonly priority: number;
  readonly when: When;
  readonly maxAttempts: number;
  readonly timeoutS: number;
  /** @default 1 */
  readonly payloadVersion?: number | undefined;
  /** Of the handler. @default that of the kind where the job runs */
  readonly timeoutMs?: number | undefined;
  /** JSON text of an object. @default none */
  readonly meta?: string | undefined;
}

/** A job of which there is at most one unfinished with its kind and key. */
export interface KeyedJob extends NewJob {
  readonly key: string;
}

/** What became of a job with a key. */
export interface KeyedAnswer {
  /** Of the new job, or of the one that has the key. */
  readonly id: number;
  readonly duplicate: boolean;
  /** Whether there is something that sleeping workers should know: a job that was inserted, or that is due sooner. */
  readonly news: boolean;
  /** Of the sequence: those that were drawn for a job which was not inserted. */
  readonly lostIds: number;
}

/** Inserts one job and gives its id. What is to be told with it goes out when the transaction commits. */
export async function enqueue(
  db: Executor,
  jobs: TableName,
  job: NewJob,
  notifications?: Notifications | JobNotification | undefined,
): Promise<number> {
  const [row] = await rows(
    db,
    sql`
insert into ${jobs} ${mark} (queue, kind, payload, payload_version, priority, run_at, max_attempts, timeout_s, timeout_ms, meta)
values (${job.queue}, ${job.kind}, ${jsonb(job.payload)}, ${job.payloadVersion ?? 1}, ${job.priority}, ${runAt(job.when)},
        ${job.maxAttempts}, ${job.timeoutS}, ${job.timeoutMs ?? null}, ${metaOf(job)})
returning id${notifications ? sql`, ${notifiedOf(notifications, sql`id`)} as notified` : sql``}`,
  );
  return numberOf(row?.['id']);
}

/** The value of the column. */
export function metaOf({ meta }: NewJob): SQL {
  return meta === undefined ? sql`null` : jsonb(meta);
}

/** From the call, not from the start of the transaction, which `now()` would give. */
export function runAt(when: When): SQL {
  if ('runAt' in when) return sql`${when.runAt}::timestamptz`;
  if (when.delayMs === 0) return sql`clock_timestamp()`;
  return sql`clock_timestamp() + ${when.delayMs}::float8 * interval '1 millisecond'`;
}
