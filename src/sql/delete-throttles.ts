/** Rows of periods that are over mean nothing, but for the next enqueue of their key, which they save a statement. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';

/** The most rows in one statement. */
export const largestDelete = 1_000;

/** Deletes up to {@link largestDelete} whose period has been over for so long, and says how many. Never waits for a row lock. */
export async function deleteThrottles(db: Executor, throttle: TableName, overForS: number): Promise<number> {
  const [row] = await rows(
    db,
    sql`
with old as materialized (  -- locks first, without waiting: an enqueue may be about to take the row
  select slot.ctid
  from   ${throttle} as slot
  where  slot.until < clock_timestamp() - ${overForS}::float8 * interval '1 second'
  order  by slot.until
  limit  ${sql.raw(String(largestDelete))}
  for update skip locked
),
deleted as (
  delete from ${throttle} as slot
  where  slot.ctid = any(array(select old.ctid from old))  -- locked, so it stays where it is
  returning 1
)
select count(*) as n from deleted`,
  );
  return row ? numberOf(row['n']) : 0;
}
