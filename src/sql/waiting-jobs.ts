/** The jobs of a kind that wait, as tests look them up. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { textArray } from '../database/parameters.js';
import { numberOf, rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { timeText } from './job-json.js';

export interface WaitingJob {
  readonly id: number;
  readonly kind: string;
  readonly queue: string;
  readonly payload: unknown;
  readonly payloadVersion: number;
  readonly priority: number;
  readonly runAt: Date;
  /** How often it has started. */
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly dedupeKey: string | null;
}

/** Those that have one of these names, by id. */
export async function waitingJobs(
  db: Executor,
  jobs: TableName,
  kinds: readonly string[],
): Promise<WaitingJob[]> {
  const found = await rows(
    db,
    sql`
select job.id,
       job.kind,
       job.queue,
       job.payload::text as payload,
       job.payload_version as "payloadVersion",
       job.priority,
       ${timeText(sql`job.run_at`)} as "runAt",
       job.attempts,
       job.max_attempts as "maxAttempts",
       job.dedupe_key as key
from   ${jobs} as job
where  job.state = 'available' and job.kind = any(${textArray(kinds)})
order  by job.id`,
  );
  return found.map((row) => ({
    id: numberOf(row['id']),
    kind: textOf(row['kind']),
    queue: textOf(row['queue']),
    payload: JSON.parse(textOf(row['payload'])),
    payloadVersion: numberOf(row['payloadVersion']),
    priority: numberOf(row['priority']),
    runAt: new Date(textOf(row['runAt'])),
    attempts: numberOf(row['attempts']),
    maxAttempts: numberOf(row['maxAttempts']),
    dedupeKey: row['key'] == null ? null : textOf(row['key']),
  }));
}

/** How many jobs of each kind wait. */
export async function waitingKinds(db: Executor, jobs: TableName): Promise<ReadonlyMap<string, number>> {
  const found = await rows(
    db,
    sql`
select job.kind, count(*)::int as n
from   ${jobs} as job
where  job.state = ${'available'}::text
group  by job.kind
order  by job.kind`,
  );
  return new Map(found.map((row) => [textOf(row['kind']), numberOf(row['n'])]));
}
