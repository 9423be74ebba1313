/** Writes down that something is paused, and tells the workers when the transaction commits. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { textArray } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { PauseScope } from '../words/pauses.js';
import { pausesNotified } from './notify.js';

/**
 * Pauses the queue, or the kind, of these names; how many of them were not paused. Waits for the end of another transaction
 * that pauses or resumes one of them.
 */
export async function pause(
  db: Executor,
  limits: TableName,
  channel: string,
  scope: PauseScope,
  names: readonly string[],
): Promise<number> {
  const [row] = await rows(
    db,
    sql`
with made as (
  insert into ${limits} (scope, name)
  select ${scope}::text, asked.name
  from   unnest(${textArray(names)}) as asked(name)
  order  by asked.name  -- the same for everybody: no deadlock
  on conflict (scope, name) do nothing
  returning name
)
select ${pausesNotified(channel)} as n from made`,
  );
  return numberOf(row?.['n']);
}
