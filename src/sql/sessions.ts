/**
 * Which workers' processes live: each holds an advisory lock on a session of its own, which Postgres lets go of when the
 * session ends. Others look whether it is held, and never try to take it: that would keep its owner from it.
 */
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { idArray, intArray } from '../database/parameters.js';
import { numberOf, type Row, rows, textOf } from '../database/rows.js';
import type { Session } from '../database/session.js';
import type { TableName } from '../database/table-name.js';
import { pausesText } from './find-pauses.js';

/** A lock by the two numbers of `pg_advisory_lock(int, int)`, unsigned as `pg_locks` shows them. */
export interface SessionLock {
  /** The same for all workers of one table. */
  readonly group: number;
  readonly key: number;
}

/** Takes the worker's lock for as long as the session lasts; false when another session has it. */
export async function takeSessionLock(session: Session, { group, key }: SessionLock): Promise<boolean> {
  const [row] = await rows(
    session,
    sql`select pg_catalog.pg_try_advisory_lock(${signed(group)}::int, ${signed(key)}::int)::text as taken`,
  );
  return row?.['taken'] === 'true';
}

/**
 * Says which queues the session's worker serves: by a lock for each, which many may hold. Given as unsigned numbers that
 * stand for their names.
 */
export async function tellQueues(session: Session, group: number, queues: readonly number[]): Promise<void> {
  await rows(
    session,
    sql`
select count(pg_catalog.pg_try_advisory_lock_shared(${signed(queuesGroup(group))}::int, said.queue))::text as told
from   unnest(${intArray(queues.map(signed))}) as said(queue)`,
  );
}

/** Says that it serves them no more. */
export async function untellQueues(
  session: Session,
  group: number,
  queues: readonly number[],
): Promise<void> {
  await rows(
    session,
    sql`
select count(pg_catalog.pg_advisory_unlock_shared(${signed(queuesGroup(group))}::int, said.queue))::text as told
from   unnest(${intArray(queues.map(signed))}) as said(queue)`,
  );
}

/**
 * Whatever the database's defaults are: with others, a bare select of the session can wait for as long as somebody else's
 * transaction lasts (serializable, read-only and deferrable).
 */
export async function useOwnDefaults(session: Session): Promise<void> {
  await session.execute(
    sql`set session characteristics as transaction isolation level read committed, not deferrable`,
  );
}

/** The group of the locks that say which queues are served. */
function queuesGroup(group: number): number {
  return (group ^ 0x5a5a5a5a) >>> 0;
}

/** Whether anybody holds the lock, as this database sees it. */
export async function isLockHeld(db: Executor, { group, key }: SessionLock): Promise<boolean> {
  const result = await rows(
    db,
    sql`select 1 as n from pg_catalog.pg_locks as lock where ${isOfGroup(group)} and lock.objid::bigint = ${key}::bigint`,
  );
  return result.length > 0;
}

/** The process id of the backend that answers. */
export async function backendPid(session: Session): Promise<number> {
  const [row] = await rows(session, sql`select pg_backend_pid()::text as pid`);
  return numberOf(row?.['pid']);
}

export interface SessionsLook {
  /** The keys of the locks that are held, with the numbers of the queues that their workers told. */
  readonly held: ReadonlyMap<number, ReadonlySet<number>>;
  /** Whether this session hears of the channel. */
  readonly listening: boolean;
  /** Whether any job is running. */
  readonly running: boolean;
  /** What is paused, as `pausesText` has it, where that was asked. */
  readonly pauses: string | undefined;
  /** The database's clock at the look, in seconds since 1970. */
  readonly atS: number;
}

/** One look at all of a group; with `limits`, also at what is paused. */
export async function lookAtSessions(
  session: Session,
  jobs: TableName,
  group: number,
  channel: string,
  limits?: TableName | undefined,
): Promise<SessionsLook> {
  const result = await rows(
    session,
    sql`
select null as pid, null as key, null as queue,
       (${channel}::text in (select said.channel from pg_catalog.pg_listening_channels() as said(channel)))::text as listening,
       exists (select from ${jobs} as job where job.state = 'running')::text as running,
       ${limits ? pausesText(limits) : sql`null`} as pauses,
       (extract(epoch from clock_timestamp())::float8 * 1000::float8)::bigint::text as ms
union all
select lock.pid::text,
       case when lock.classid::bigint = ${group}::bigint then lock.objid::text end,
       case when lock.classid::bigint = ${queuesGroup(group)}::bigint then lock.objid::text end,
       null, null, null, null
from   pg_catalog.pg_locks as lock
where  ${isOfGroups([group, queuesGroup(group)])}`,
  );
  return {
    held: heldOf(result),
    listening: result.some((row) => row['listening'] === 'true'),
    running: result.some((row) => row['running'] === 'true'),
    pauses: textIn(result, 'pauses'),
    atS: numberOf(result.find((row) => row['ms'] != null)?.['ms']) / 1_000,
  };
}

/** The one text that a row has in this column. */
function textIn(result: readonly Row[], column: string): string | undefined {
  const row = result.find((row) => row[column] != null);
  return row && textOf(row[column]);
}

function heldOf(result: readonly Row[]): Map<number, ReadonlySet<number>> {
  const queuesOf = new Map<unknown, Set<number>>();
  for (const { pid, queue } of result) {
    if (queue != null) queuesOf.set(pid, (queuesOf.get(pid) ?? new Set()).add(numberOf(queue)));
  }
  const held = new Map<number, ReadonlySet<number>>();
  for (const { pid, key } of result) if (key != null) held.set(numberOf(key), queuesOf.get(pid) ?? new Set());
  return held;
}

export interface WorkerClaims {
  /** The name that the claims begin with. */
  readonly worker: string;
  /** The latest sign of life of any of them, as ISO text. */
  readonly newest: string;
}

/** What runs under the workers whose names end in this; usually one, or none. */
export async function claimsOfWorkers(
  session: Session,
  jobs: TableName,
  ending: string,
): Promise<WorkerClaims[]> {
  const result: readonly Row[] = await rows(
    session,
    sql`
select split_part(job.locked_by, '/', 1) as worker,
       to_char(max(job.heartbeat_at) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as newest
from   ${jobs} as job
where  job.state = 'running'
  and  right(split_part(job.locked_by, '/', 1), ${ending.length}::int) = ${ending}
group  by 1`,
  );
  return result.map((row) => ({ worker: textOf(row['worker']), newest: textOf(row['newest']) }));
}

/** A condition on `pg_locks as lock`: a held lock of this group, in this database. */
export function isOfGroup(group: number): SQL {
  return isOfGroups([group]);
}

function isOfGroups(groups: readonly number[]): SQL {
  return sql`lock.locktype = 'advisory' and lock.granted and lock.objsubid = 2
    and  lock.database = (select db.oid from pg_catalog.pg_database as db where db.datname = current_database())
    and  lock.classid::bigint = any(${idArray(groups)})`;
}

/** The lock functions take signed numbers. */
function signed(unsigned: number): number {
  return unsigned | 0;
}
