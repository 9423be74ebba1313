/** How a job has ended, if it has, and what it gave. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';

export interface FoundEnd {
  readonly kind: string;
  readonly state: string;
  /** Undefined where there is none. */
  readonly result: unknown;
  readonly lastError: string | null;
}

/** Undefined where there is no such job. */
export async function findEnd(db: Executor, jobs: TableName, id: number): Promise<FoundEnd | undefined> {
  const [row] = await rows(
    db,
    sql`
select job.kind, job.state, job.result::text as result, job.last_error as "lastError"
from   ${jobs} as job
where  job.id = ${id}::bigint`,
  );
  if (row === undefined) return undefined;
  return {
    kind: textOf(row['kind']),
    state: textOf(row['state']),
    result: row['result'] == null ? undefined : JSON.parse(textOf(row['result'])),
    lastError: row['lastError'] == null ? null : textOf(row['lastError']),
  };
}
