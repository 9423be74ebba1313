/** The `rescue` move: jobs whose worker gave no sign of life run again, or are discarded when attempts are used up. */
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { idArray, textArray } from '../database/parameters.js';
import { numberOf, rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { ClaimedId } from '../words/outcome.js';
import { usualBackoff } from './backoff.js';
import { loggedErrors } from './errors-log.js';
import { isOfGroup, type SessionLock, type WorkerClaims } from './sessions.js';

/** The most jobs that one statement rescues. */
export const largestRescue = 500;

export interface RescuedJob {
  readonly id: number;
  readonly queue: string;
  readonly kind: string;
  readonly state: string;
  /** The claim that was dead. */
  readonly lockedBy: string;
}

/** A job is dead when its row is free and its claim gave no sign of life for the row's own limit. */
const isDead = sql`
        job.state = 'running'
    -- After an outage every heartbeat is old, though the workers live: time counts from the server's start.
    and greatest(job.heartbeat_at, pg_postmaster_start_time()) < clock_timestamp() - job.timeout_s::float8 * interval '1 second'`;

/**
 * The first look: up to {@link largestRescue} dead jobs of every queue and kind, by id. A row that somebody holds is not
 * among them: its worker may be in the middle of a `complete(tx)`, during which no heartbeat gets through.
 */
export async function findDead(db: Executor, jobs: TableName): Promise<ClaimedId[]> {
  const dead = await rows(
    db,
    sql`
with nothing as (  -- takes the table lock of a heartbeat: while a create index keeps those out, nobody looks dead
  update ${jobs} as job set heartbeat_at = job.heartbeat_at where false
)
select job.id, job.locked_by as "lockedBy"
from   ${jobs} as job
where  ${isDead}
order  by job.id
limit  ${largestRescue}::int
for update skip locked`,
  );
  return dead.map((row) => ({ id: numberOf(row['id']), lockedBy: textOf(row['lockedBy']) }));
}

/** Which of the dead jobs to rescue, and until when; all of them, at any time, where nothing is said. */
export interface RescueRequest {
  /** Only these claims: those that were dead at an earlier look as well. */
  readonly among?: readonly ClaimedId[];
  /**
   * Nothing when the database's clock (see `databaseTimeS`) is past this: a statement that waits in a driver or a
   * network through an outage would arrive before the heartbeats of workers that live.
   */
  readonly notAfterS?: number;
}

/**
 * Rescues up to {@link largestRescue} dead jobs of every queue and kind: the row's own limit decides, not what this
 * worker's registry knows. Never waits for a row lock; several rescuers at once share the work.
 */
export async function rescue(
  db: Executor,
  jobs: TableName,
  { among, notAfterS }: RescueRequest = {},
): Promise<RescuedJob[]> {
  return rescueWhere(
    db,
    jobs,
    sql`${isDead} and ${isInTime(notAfterS)} and ${among === undefined ? sql`true` : isAmong(among)}`,
    sql`'rescued: no heartbeat for more than ' || job.timeout_s::text || ' s from ' || job.locked_by`,
  );
}

/** A worker whose process ended, by all that is known. */
export interface EndedWorker extends WorkerClaims {
  /** The lock that its session held. */
  readonly lock: SessionLock;
  /** As in {@link RescueRequest}: a restart may come between the look and this. */
  readonly notAfterS?: number;
}

/**
 * Rescues up to {@link largestRescue} jobs of a worker whose session was seen to be gone: only while its lock is free,
 * and only when none of its claims has given a sign of life since.
 */
export async function rescueEnded(
  db: Executor,
  jobs: TableName,
  { worker, newest, lock, notAfterS }: EndedWorker,
): Promise<RescuedJob[]> {
  const isIts = (job: SQL): SQL =>
    sql`${job}.state = 'running' and split_part(${job}.locked_by, '/', 1) = ${worker}`;
  return rescueWhere(
    db,
    jobs,
    sql`${isInTime(notAfterS)} and ${isIts(sql`job`)} and job.heartbeat_at <= ${newest}::timestamptz
    and not exists (select from ${jobs} as other where ${isIts(sql`other`)} and other.heartbeat_at > ${newest}::timestamptz)
    and not exists (select from pg_catalog.pg_locks as lock where ${isOfGroup(lock.group)} and lock.objid::bigint = ${lock.key}::bigint)`,
    sql`'rescued: the process of ' || job.locked_by || ' ended'`,
  );
}

/** Its attempts are used up, and it is to run once more: from its first one, as in `finish.ts`. */
const anew = sql`(job.again is not null and job.attempts >= job.max_attempts)`;

function isInTime(notAfterS: number | undefined): SQL {
  return notAfterS === undefined ? sql`true` : sql`clock_timestamp() < to_timestamp(${notAfterS}::float8)`;
}

async function rescueWhere(db: Executor, jobs: TableName, condition: SQL, why: SQL): Promise<RescuedJob[]> {
  const result = await rows(
    db,
    sql`
with dead as materialized (  -- the row lock and the test of its heartbeat belong together: a live job cannot be taken
  select job.id, job.locked_by
  from   ${jobs} as job
  where  ${condition}
  order  by job.id
  limit  ${sql.raw(String(largestRescue))}
  for update skip locked
),
rescued as (
  update ${jobs} as job
  set    state        = case when job.attempts >= job.max_attempts and job.again is null then 'discarded' else 'available' end,
         attempts     = case when ${anew} then 0 else job.attempts end,
         finished_at  = case when job.attempts >= job.max_attempts and job.again is null then clock_timestamp() end,
         run_at       = case when ${anew} then greatest(job.run_at, clock_timestamp())
                             else clock_timestamp() + ${usualBackoff(sql`job.attempts`)} end,
         locked_by    = null,
         heartbeat_at = null,
         started_at   = null,
         last_error   = ${why},
         errors       = ${loggedErrors(why)},
         again        = null,
         created_at   = case when ${anew} then clock_timestamp() else job.created_at end
  where  job.id = any(array(select dead.id from dead))  -- joined with dead it would be a nested loop over both
  returning job.id, job.queue, job.kind, job.state
)
select rescued.id, rescued.queue, rescued.kind, rescued.state, dead.locked_by as "lockedBy"
from   rescued
join   dead using (id)`,
  );
  return result.map((row) => ({
    id: numberOf(row['id']),
    queue: textOf(row['queue']),
    kind: textOf(row['kind']),
    state: textOf(row['state']),
    lockedBy: textOf(row['lockedBy']),
  }));
}

/** coalesce makes it one hash table instead of a join, as in the heartbeat. */
function isAmong(claims: readonly ClaimedId[]): SQL {
  const [ids, tokens] = [
    idArray(claims.map(({ id }) => id)),
    textArray(claims.map(({ lockedBy }) => lockedBy)),
  ];
  return sql`job.id = any(${ids})
    and  coalesce((job.id, job.locked_by) in (select * from unnest(${ids}, ${tokens})), false)`;
}
