/** Whether a table is there: a statement that names one which is not ends the transaction. */
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { numberOf, rows } from '../database/rows.js';
import type { TablePlace } from '../database/table-name.js';

/** With `rights`, whether it is there and these hold, which call it `c` and its schema `n`. */
export async function isThere(
  db: Executor,
  { schema, name }: TablePlace,
  rights: SQL = sql`true`,
): Promise<boolean> {
  const [row] = await rows(
    db,
    sql`
select count(*) as n
from   pg_catalog.pg_class c
join   pg_catalog.pg_namespace n on n.oid = c.relnamespace
where  n.nspname = ${schema}::text and c.relname = ${name}::text and ${rights}`,
  );
  return numberOf(row?.['n']) > 0;
}
