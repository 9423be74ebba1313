/** Who waits for a lock that a test holds. Test files share a server, so each asks for its own database only. */
import type { Sql } from 'postgres';

/** The backends that wait for an advisory lock. */
export async function waitingForAdvisory(sql: Sql): Promise<number[]> {
  const found = await sql<{ pid: number }[]>`
    select pid from pg_locks where locktype = 'advisory' and not granted
    and database = (select oid from pg_database where datname = current_database())`;
  return found.map(({ pid }) => pid);
}

/** The backends whose statement is like this and waits for a row or a table. */
export async function waitingForLock(sql: Sql, like: string, atLeastS = 0): Promise<number[]> {
  const found = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    and query like ${like} and query_start <= clock_timestamp() - ${atLeastS}::float8 * interval '1 s'`;
  return found.map(({ pid }) => pid);
}
