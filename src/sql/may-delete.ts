/** Whether the role may delete rows as `delete-throttles.ts` does; false also where there is no such table. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { numberOf, rows } from '../database/rows.js';
import type { TablePlace } from '../database/table-name.js';

export async function mayDelete(db: Executor, { schema, name }: TablePlace): Promise<boolean> {
  const [row] = await rows(
    db,
    sql`
select count(*) as n
from   pg_catalog.pg_class c
join   pg_catalog.pg_namespace n on n.oid = c.relnamespace
where  n.nspname = ${schema}::text and c.relname = ${name}::text and has_schema_privilege(n.oid, 'usage')
       and has_table_privilege(c.oid, 'delete') and has_any_column_privilege(c.oid, 'select')
       and has_any_column_privilege(c.oid, 'update')`,
  );
  return numberOf(row?.['n']) > 0;
}
