/** What a database's own processes do: how many serve it, what CPU they take, what they write and what they have counted. */
import { readFile } from 'node:fs/promises';
import { asAdmin } from '../support/postgres/index.js';
import type { Database } from './server.js';

export interface Backends {
  readonly connections: number;
  readonly atMs: number;
  /** What the whole server has written to its log so far. */
  readonly walBytes: number;
  /** By process id; empty where the system does not tell. */
  readonly cpuMs: ReadonlyMap<number, number>;
}

/** The connections of others, and the CPU time that each has taken so far. */
export async function backendsOf(database: Database): Promise<Backends> {
  const { pids, walBytes } = await asAdmin(database.url, async (sql) => {
    const rows = await sql<{ pid: number; wal: string }[]>`
      select pid, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as wal from pg_stat_activity
      where  datname = ${database.name} and backend_type = 'client backend' and pid <> pg_backend_pid()`;
    return { pids: rows.map(({ pid }) => pid), walBytes: Number(rows[0]?.wal) };
  });
  const times = await Promise.all(pids.map(async (pid) => [pid, await cpuMsOf(pid)] as const));
  return {
    connections: pids.length,
    atMs: performance.now(),
    walBytes,
    cpuMs: new Map(times.flatMap(([pid, ms]) => (ms === undefined ? [] : [[pid, ms] as const]))),
  };
}

/** The CPU time that they took between two looks; NaN where the system does not tell. */
export function cpuMsBetween(before: Backends, after: Backends): number {
  if (after.cpuMs.size === 0) return Number.NaN;
  return [...after.cpuMs].reduce((sum, [pid, ms]) => sum + ms - (before.cpuMs.get(pid) ?? 0), 0);
}

/** Linux only: the time on the CPU, in ns, is the first number of the file. */
async function cpuMsOf(pid: number): Promise<number | undefined> {
  try {
    return Number((await readFile(`/proc/${pid}/schedstat`, 'utf8')).split(' ')[0]) / 1e6;
  } catch {
    return undefined;
  }
}

/** What was counted in the database since it was made. A process of Postgres adds its numbers when it ends at the latest. */
export async function countersOf(database: Database): Promise<{ deadlocks: number; transactions: number }> {
  const [row] = await asAdmin(
    database.url,
    (sql) => sql<{ deadlocks: number; transactions: number }[]>`
      select deadlocks::int, (xact_commit + xact_rollback)::int as transactions
      from   pg_stat_database where datname = ${database.name}`,
  );
  if (!row) throw new Error(`Postgres counts nothing for ${database.name}.`);
  return row;
}
