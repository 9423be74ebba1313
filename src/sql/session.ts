/** What a connection tells of its database: the defaults of statements that say nothing, and the time. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { numberOf, rows } from '../database/rows.js';

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
       current_setting('default_transaction_read_only') as "readOnly"`,
  );
  return { isolation: String(row?.['isolation']), readOnly: row?.['readOnly'] === 'on' };
}

/** The database's clock, in seconds since 1970. */
export async function databaseTimeS(db: Executor): Promise<number> {
  const [row] = await rows(db, sql`select extract(epoch from clock_timestamp())::float8 as now`);
  return numberOf(row?.['now']);
}
