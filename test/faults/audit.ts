/** What became of the jobs of a scenario, by the ledger of the handlers and the database's own record of ends. */
import type { Row, Sql } from 'postgres';
import { completeEvery } from './registry.js';

export interface Audit {
  /** Committed jobs whose handler never came to its end, nor committed its effect with `job.complete(tx)`. */
  readonly lost: number;
  /** Jobs of rolled-back transactions that ran all the same. */
  readonly phantoms: number;
  /** Claims that were ended twice. */
  readonly doubleFinished: number;
  /** Jobs that are still waiting or running. */
  readonly left: number;
  /** Committed jobs that are neither gone nor in a final state, or were deleted twice. */
  readonly notOnce: number;
  readonly discarded: number;
  /** Pairs of runs of one job that were at work at the same time. */
  readonly overlaps: number;
  /** Those of them where neither run had lost its job to a rescue. */
  readonly unexplained: number;
  /** Claims whose job was completed before their own handler had come to its end: another run did it. */
  readonly stolen: number;
  /** Effects of `job.complete(tx)` that are missing or there twice, or of another claim than the one that ended the job. */
  readonly effects: number;
  /** Runs of a job beyond its first one. */
  readonly again: number;
  /** Runs of a job after one that came to its end, in a worker that nobody killed before that was written. */
  readonly repeats: number;
}

/** Tables beside the jobs: which claims ended, and the effects of `job.complete(tx)`. */
export async function createRecord(sql: Sql): Promise<void> {
  await sql`create table effects (n int, locked_by text)`;
  await sql`
    create table ends (
      job bigint, n int, locked_by text, state text, rescued boolean not null default false, at timestamptz default clock_timestamp())`;
  await sql.unsafe(`
    create function record_end() returns trigger language plpgsql as $$ begin
      if tg_op = 'DELETE' then
        insert into ends values (old.id, (old.payload->>'n')::int, old.locked_by, 'completed');
      elsif new.state <> 'running' then
        insert into ends values (old.id, (old.payload->>'n')::int, old.locked_by, new.state,
                                 coalesce(new.last_error like 'rescued: % from ' || old.locked_by, false));
      end if;
      return null;
    end $$;
    create trigger record_end after delete or update on jobs for each row
      when (old.state = 'running') execute function record_end()`);
}

/** On the other server: one row a run. */
export async function createLedger(sql: Sql): Promise<void> {
  await sql`
    create table runs (
      id        bigint primary key generated always as identity,
      job       bigint,
      n         int,
      locked_by text,
      attempt   int,
      pid       int,
      began     timestamptz default clock_timestamp(),
      ended     timestamptz,
      failed    timestamptz,
      killed    timestamptz)`;
  await sql`create index on runs (job)`;
}

/** `committed`: the numbers of the jobs from 1 on that were committed. */
export async function audit(sql: Sql, ledger: Sql, committed: number): Promise<Audit> {
  const [runs] = await ledger`
    select array(select n from generate_series(1, ${committed}::int) as n
                 except
                 select n from runs where ended is not null)::text                           as unended,
           count(distinct n) filter (where n < 0)::int                                        as phantoms,
           (count(*) - count(distinct job))::int                                              as again,
           count(*) filter (where exists (select from runs as before
                                          where before.job = runs.job and before.id < runs.id
                                          and   before.ended is not null
                                          and   before.killed is null))::int                  as repeats
    from   runs`;
  // The answer to a commit may be lost: its handler fails, and what it did stands.
  const [lost] = await sql`
    select count(*)::int as lost
    from   unnest(${String(runs?.['unended'])}::text::int[]) as unended(n)
    where  not exists (select from effects where effects.n = unended.n)`;
  const overlaps = await ledger`
    select a.job, a.locked_by as one, b.locked_by as other
    from   runs a
    join   runs b on b.job = a.job and b.id > a.id
    where  b.began < coalesce(a.ended, a.failed, a.killed, 'infinity')
    and    a.began < coalesce(b.ended, b.failed, b.killed, 'infinity')`;
  const rescued = await claims(sql`select job, locked_by from ends where rescued`);
  const completed = sql`
    select job, locked_by, at from ends where state = 'completed' and n > 0 and n % ${completeEvery}::int <> 0`;
  const done = await claims(ledger`select job, locked_by, ended as at from runs where ended is not null`);
  const stolen = (await completed).filter((end) => !((done.get(claimOf(end)) ?? Infinity) <= end['at']));
  const [ends] = await sql`
    select (select count(*)::int from (select from ends group by job, locked_by having count(*) > 1) as twice) as "doubleFinished",
           (select count(*)::int from jobs where state in ('available', 'running'))                            as left,
           (select count(*)::int from jobs where state = 'discarded')                                          as discarded,
           (select count(*)::int from generate_series(1, ${committed}::int) as n
            where (select count(*) from ends where ends.n = n.n and ends.state in ('completed', 'discarded')) <> 1) as "notOnce",
           (select count(*)::int from generate_series(1, ${committed}::int) as n
            where (select count(*) from effects where effects.n = n.n) <> case when n.n % ${completeEvery}::int = 0 then 1 else 0 end
            or exists (select from effects join ends using (n)
                       where effects.n = n.n and ends.state = 'completed' and ends.locked_by <> effects.locked_by))            as effects`;
  const count = (row: Row | undefined, name: keyof Audit): number => Number(row?.[name]);
  return {
    lost: count(lost, 'lost'),
    phantoms: count(runs, 'phantoms'),
    doubleFinished: count(ends, 'doubleFinished'),
    left: count(ends, 'left'),
    notOnce: count(ends, 'notOnce'),
    discarded: count(ends, 'discarded'),
    overlaps: overlaps.length,
    unexplained: overlaps.filter(
      ({ job, one, other }) => !rescued.has(`${job} ${one}`) && !rescued.has(`${job} ${other}`),
    ).length,
    stolen: stolen.length,
    effects: count(ends, 'effects'),
    again: count(runs, 'again'),
    repeats: count(runs, 'repeats'),
  };
}

/** The time of each claim's row, if it has one. */
async function claims(query: PromiseLike<readonly Row[]>): Promise<Map<string, number>> {
  return new Map((await query).map((row) => [claimOf(row), Number(row['at'])]));
}

function claimOf({ job, locked_by }: Row): string {
  return `${job} ${locked_by}`;
}
