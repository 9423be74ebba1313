/** Whether the role may delete rows as `delete-throttles.ts` does; false also where there is no such table. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import type { TablePlace } from '../database/table-name.js';
import { isThere } from './is-there.js';

export function mayDelete(db: Executor, table: TablePlace): Promise<boolean> {
  return isThere(
    db,
    table,
    sql`has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'delete')
       and has_any_column_privilege(c.oid, 'select') and has_any_column_privilege(c.oid, 'update')`,
  );
}
