/**
 * Holds the database against what the world outside saw: what GitHub was answered and what the sink received.
 * The workers' own word counts only where they contradict each other.
 */
import { sql } from 'drizzle-orm';
import type { Db } from '../database.js';
import { activity, claimEnds, eventJobs, events, jobs } from '../schema.js';
import type { Received } from './sink.js';

export interface Seen {
  /** Delivery ids that the receiver answered with 202. */
  readonly accepted: ReadonlySet<string>;
  /** Delivery ids that it answered with 500. */
  readonly failed: ReadonlySet<string>;
  readonly received: readonly Received[];
}

export interface Promised {
  readonly promise: string;
  /** What breaks it, one line each; empty when it is kept. */
  readonly broken: readonly string[];
}

export async function audit(db: Db, seen: Seen): Promise<readonly Promised[]> {
  return [
    { promise: 'a rolled-back event has no job', broken: await jobsOfRolledBack(db, seen) },
    { promise: 'a committed event has its two jobs', broken: await eventsWithoutJobs(db, seen) },
    { promise: 'a job is completed, with its effect, or discarded', broken: await jobsWithoutEnd(db, seen) },
    { promise: 'no claim ends twice', broken: await claimsEndedTwice(db) },
    { promise: 'nothing is left waiting or running', broken: await leftovers(db) },
    { promise: 'only rescued jobs are delivered twice', broken: await repeatsWithoutRescue(db, seen) },
    { promise: 'every event is counted exactly once', broken: await miscounted(db) },
  ];
}

async function jobsOfRolledBack(db: Db, { failed, received }: Seen): Promise<string[]> {
  const stored = (await db.select({ id: events.deliveryId }).from(events)).filter(({ id }) => failed.has(id));
  const strangers = await db.execute<{ id: string }>(sql`
    select id from (select id from ${jobs} union select job_id from ${claimEnds}) as known
    where  id not in (select job_id from ${eventJobs})
    order  by id`);
  return [
    ...stored.map(({ id }) => `event ${id} was answered with 500 and is stored`),
    ...strangers.map(({ id }) => `job ${id} belongs to no event`),
    ...received
      .filter(({ deliveryId }) => failed.has(deliveryId))
      .map(({ deliveryId, job }) => `event ${deliveryId} was answered with 500 and delivered by job ${job}`),
  ];
}

async function eventsWithoutJobs(db: Db, { accepted }: Seen): Promise<string[]> {
  const rows = await db.execute<{ id: string; kinds: string }>(sql`
    select event.delivery_id as id, coalesce(string_agg(event_job.kind, ', ' order by event_job.kind), 'none') as kinds
    from   ${events} as event
    left   join ${eventJobs} as event_job on event_job.event_id = event.id
    group  by event.id`);
  const stored = new Set(rows.map(({ id }) => id));
  return [
    ...[...accepted]
      .filter((id) => !stored.has(id))
      .map((id) => `event ${id} was answered with 202 and is not stored`),
    ...rows
      .filter(({ kinds }) => kinds !== 'deliver, index')
      .map(({ id, kinds }) => `event ${id} has other jobs than deliver, index: ${kinds}`),
  ];
}

/** A completed job has no row any more, so its effect has to prove it. */
async function jobsWithoutEnd(db: Db, { received }: Seen): Promise<string[]> {
  const delivered = new Set(received.filter(({ status }) => status === 200).map(({ job }) => job));
  const rows = await db.execute<{ id: string; kind: string; state: string | null; indexed: boolean }>(sql`
    select event_job.job_id as id, event_job.kind, job.state, event.indexed_at is not null as indexed
    from   ${eventJobs} as event_job
    join   ${events} as event on event.id = event_job.event_id
    left   join ${jobs} as job on job.id = event_job.job_id`);
  return rows
    .filter(({ id, kind, state, indexed }) => {
      const hasEffect = kind === 'deliver' ? delivered.has(Number(id)) : indexed;
      return state === null ? !hasEffect : state !== 'discarded';
    })
    .map(({ id, kind, state }) => `${kind} ${id} is ${state ?? 'gone without its effect'}`);
}

async function claimsEndedTwice(db: Db): Promise<string[]> {
  const rows = await db.execute<{ id: string; claim: string; ends: string }>(sql`
    select job_id as id, locked_by as claim, string_agg(how, ', then ' order by id) as ends
    from   ${claimEnds}
    group  by job_id, locked_by
    having count(*) > 1`);
  return rows.map(({ id, claim, ends }) => `job ${id} of claim ${claim}: ${ends}`);
}

async function leftovers(db: Db): Promise<string[]> {
  const rows = await db.select().from(jobs).where(sql`${jobs.finishedAt} is null`);
  return rows.map(
    ({ kind, id, state, lastError }) => `${kind} ${id} is ${state}; last error: ${lastError ?? 'none'}`,
  );
}

async function repeatsWithoutRescue(db: Db, { received }: Seen): Promise<string[]> {
  const rescued = await db
    .select({ id: claimEnds.jobId })
    .from(claimEnds)
    .where(sql`${claimEnds.how} = 'rescued'`);
  const allowed = new Set(rescued.map(({ id }) => id));
  return deliveredTwice(received)
    .filter((job) => !allowed.has(job))
    .map((job) => `job ${job} was delivered twice and never rescued`);
}

/** Kills or not: the count and the end of the `index` job are one transaction. */
async function miscounted(db: Db): Promise<string[]> {
  const rows = await db.execute<{ repository: string; stored: number; counted: number }>(sql`
    select *
    from   (select repository, count(*)::int as stored from ${events}
            where repository is not null and indexed_at is not null group by repository) as event
    full   join (select repository, events as counted from ${activity}) as count using (repository)
    where  stored is distinct from counted`);
  return rows.map(({ repository, stored, counted }) => `${repository}: ${stored} events, counted ${counted}`);
}

/** Jobs whose delivery was accepted more than once. */
export function deliveredTwice(received: readonly Received[]): number[] {
  const accepted = received.filter(({ status }) => status === 200).map(({ job }) => job);
  return [...new Set(accepted.filter((job, n) => accepted.indexOf(job) !== n))];
}
