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
select current_setting(${'default_transaction_isolation'}::text) as isolation,
       current_setting(${'default_transaction_read_only'}::text) as "readOnly"`,
  );
  return { isolation: String(row?.['isolation']), readOnly: row?.['readOnly'] === 'on' };
}

/** Lets a transaction write whatever the default is. Its first statement; fails on a standby. */
export async function allowWrites(tx: Executor): Promise<void> {
  await rows(tx, sql`set transaction read write`);
}

/** The database's clock, in seconds since 1970. */
export async function databaseTimeS(db: Executor): Promise<number> {
  const [row] = await rows(
    db,
    sql`select (date_part(${'epoch'}::text, clock_timestamp()) * 1000::float8)::bigint as ms`,
  );
  return numberOf(row?.['ms']) / 1_000; // not a float8, whose digits are a setting of the database
}
