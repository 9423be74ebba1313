/** The `update` move: a waiting job gets another payload, of the version that the registry has today. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { jsonb, textArray } from '../database/parameters.js';
import type { TableName } from '../database/table-name.js';
import { type MovedRow, move } from './persons-move.js';

/** What a job is given: if it is called one of the names, this payload. */
export interface NewPayload {
  readonly kinds: readonly string[];
  /** JSON text. */
  readonly payload: string;
  readonly payloadVersion: number;
}

/** Gives each of these jobs that payload. */
export function update(
  db: Executor,
  jobs: TableName,
  ids: readonly number[],
  { kinds, payload, payloadVersion }: NewPayload,
): Promise<MovedRow[]> {
  return move(db, jobs, ids, {
    fits: sql`job.state = 'available' and job.kind = any(${textArray(kinds)})`,
    moved: sql`
  update ${jobs} as job
  set    payload         = ${jsonb(payload)},
         payload_version = ${payloadVersion}::smallint
  where  job.id = any(array(select mine.id from mine))
  returning job.id, job.state`,
  });
}
