/** Whether a table is there: a statement that names one which is not ends the transaction. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { numberOf, rows } from '../database/rows.js';

export async function isThere(
  db: Executor,
  { schema, name }: { readonly schema: string; readonly name: string },
): Promise<boolean> {
  const [row] = await rows(
    db,
    sql`
select count(*) as n
from   pg_catalog.pg_class c
join   pg_catalog.pg_namespace n on n.oid = c.relnamespace
where  n.nspname = ${schema}::text and c.relname = ${name}::text`,
  );
  return numberOf(row?.['n']) > 0;
}
