/** What a database has of the jobs table after drizzle-kit was at it. */
import postgres from 'postgres';

export interface Live {
  /** The storage parameters of each table `jobs`, by the table's full name. */
  readonly storage: Record<string, string[] | null>;
  /** Definitions of everything that drizzle-kit could have changed: columns, indexes, constraints. */
  readonly definitions: readonly string[];
  /** The triggers of the app's tables, ours among them. */
  readonly triggers: readonly string[];
  readonly rows: number;
}

export async function inspect(url: string): Promise<Live> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    const tables = await sql<{ name: string; storage: string[] | null; oid: number }[]>`
      select oid::int, relnamespace::regnamespace || '.' || relname as name, reloptions as storage
      from pg_class where relkind = 'r' and relname = 'jobs' order by name`;
    const oids = tables.map(({ oid }) => oid);
    const definitions = await sql<{ text: string }[]>`
      select pg_get_indexdef(indexrelid) as text from pg_index where indrelid = any(${oids})
      union all
      select conname || ' ' || pg_get_constraintdef(oid) from pg_constraint where conrelid = any(${oids})
      union all
      select attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull::text || ' ' || attidentity::text || ' '
        || coalesce(pg_get_expr(adbin, adrelid), '')
      from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attrelid = any(${oids}) and attnum > 0 and not attisdropped
      order by text`;
    const triggers = await sql<{ text: string }[]>`
      select pg_get_triggerdef(oid) as text from pg_trigger where tgrelid = any(${oids}) and not tgisinternal`;
    let rows = 0;
    for (const { name } of tables) {
      const [counted] = await sql<{ n: number }[]>`select count(*)::int as n from ${sql(name)}`;
      rows += counted?.n ?? 0;
    }
    return {
      storage: Object.fromEntries(tables.map(({ name, storage }) => [name, storage])),
      definitions: definitions.map(({ text }) => text),
      triggers: triggers.map(({ text }) => text),
      rows,
    };
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Puts a job into a table, so that a table made anew is seen. */
export async function addJob(url: string, table: string): Promise<void> {
  const sql = postgres(url, { max: 1 });
  try {
    await sql`insert into ${sql(table)} (kind) values ('sendReceipt')`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}
