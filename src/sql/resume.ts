/** Takes a pause back, and tells the workers when the transaction commits. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { textArray } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { PauseScope } from '../words/pauses.js';
import { pausesNotified } from './notify.js';

/** Resumes the queue, or the kind, of these names; how many of them were paused. Waits as a pause does. */
export async function resume(
  db: Executor,
  limits: TableName,
  channel: string,
  scope: PauseScope,
  names: readonly string[],
): Promise<number> {
  const [row] = await rows(
    db,
    sql`
with gone as (
  delete from ${limits} as paused
  where  paused.scope = ${scope}::text and paused.name = any(${textArray(names)})
  returning paused.name
)
select ${pausesNotified(channel)} as n from gone`,
  );
  return numberOf(row?.['n']);
}
