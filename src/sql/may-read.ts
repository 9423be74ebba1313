/** Whether the role may read all of a table; false also where there is no such table. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { numberOf, rows } from '../database/rows.js';
import type { TablePlace } from '../database/table-name.js';

export async function mayRead(db: Executor, { schema, name }: TablePlace): Promise<boolean> {
  const [row] = await rows(
    db,
    sql`
select count(*) as n
from   pg_catalog.pg_class c
join   pg_catalog.pg_namespace n on n.oid = c.relnamespace
where  n.nspname = ${schema}::text and c.relname = ${name}::text and has_schema_privilege(n.oid, 'usage')
       and has_table_privilege(c.oid, 'select')`,
  );
  return numberOf(row?.['n']) > 0;
}
