/** The `enqueue` move: jobs come into being, in the caller's transaction. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { jsonb } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { When } from '../words/outcome.js';
import { type Notifications, notified } from './notify.js';

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
}

/** Inserts one job and gives its id. What is to be told with it goes out when the transaction commits. */
export async function enqueue(
  db: Executor,
  jobs: TableName,
  job: NewJob,
  notifications?: Notifications | undefined,
): Promise<number> {
  const [row] = await rows(
    db,
    sql`
insert into ${jobs} (queue, kind, payload, priority, run_at, max_attempts, timeout_s)
values (${job.queue}, ${job.kind}, ${jsonb(job.payload)}, ${job.priority}, ${runAt(job.when)}, ${job.maxAttempts}, ${job.timeoutS})
returning id${notifications ? sql`, ${notified(notifications)} as notified` : sql``}`,
  );
  return numberOf(row?.['id']);
}

/** From the call, not from the start of the transaction, which `now()` would give. */
function runAt(when: When) {
  if ('runAt' in when) return sql`${when.runAt}::timestamptz`;
  if (when.delayMs === 0) return sql`clock_timestamp()`;
  return sql`clock_timestamp() + ${when.delayMs}::float8 * interval '1 millisecond'`;
}
