/** What the database does by default with a statement that says nothing. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { rows } from '../database/rows.js';

export interface SessionDefaults {
  readonly isolation: string;
  readonly readOnly: boolean;
}

/** Reads the defaults that matter to our statements. */
export async function sessionDefaults(db: Executor): Promise<SessionDefaults> {
  const [row] = await rows(
    db,
    sql`
select current_setting('default_transaction_isolation') as isolation,
       current_setting('default_transaction_read_only') as read_only`,
  );
  return { isolation: String(row?.['isolation']), readOnly: row?.['read_only'] === 'on' };
}
