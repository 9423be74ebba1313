/**
 * Time in a transaction, for tests. `now()` stands still there, and a job is due by `now()`: so rows are moved, and not the
 * clock.
 */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { textArray } from '../database/parameters.js';
import { numberOf, rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';

/**
 * Makes jobs of these kinds due that fell due since the transaction began, and gives the queues that have due ones. They
 * get its very beginning as their time, so that of two with one priority the one that was enqueued first goes first.
 */
export async function makeDue(db: Executor, jobs: TableName, kinds: readonly string[]): Promise<string[]> {
  const list = textArray(kinds);
  const found = await rows(
    db,
    sql`
with mine as materialized (  -- in id order and without waiting, as everywhere
  select job.id
  from   ${jobs} as job
  where  job.state = 'available' and job.kind = any(${list})
         and job.run_at > now() and job.run_at <= clock_timestamp()
  order  by job.id
  for update skip locked
),
moved as (
  update ${jobs} as job
  set    run_at = now()
  where  job.id = any(array(select mine.id from mine))
)
select job.queue
from   ${jobs} as job
where  job.state = 'available' and job.kind = any(${list}) and job.run_at <= clock_timestamp()
group  by job.queue
order  by job.queue`,
  );
  return found.map((row) => textOf(row['queue']));
}

/** Moves every time of every job so far into the past, as if as much had gone by. How many jobs there are. */
export async function moveIntoPast(db: Executor, jobs: TableName, ms: number): Promise<number> {
  const [row] = await rows(
    db,
    sql`
with passed as (
  select ${ms}::float8 * interval '1 millisecond' as time
),
moved as (
  update ${jobs} as job
  set    run_at       = job.run_at       - passed.time,
         created_at   = job.created_at   - passed.time,
         started_at   = job.started_at   - passed.time,
         heartbeat_at = job.heartbeat_at - passed.time,
         finished_at  = job.finished_at  - passed.time
  from   passed
  returning job.id
)
select count(*)::int as n from moved`,
  );
  return numberOf(row?.['n']);
}

/** Moves the ends of all periods so far into the past. */
export async function moveThrottlesIntoPast(db: Executor, throttle: TableName, ms: number): Promise<void> {
  await rows(
    db,
    sql`
update ${throttle} as slot
set    until = slot.until - ${ms}::float8 * interval '1 millisecond'`,
  );
}
