/**
 * Workers that stand still for longer than the rescue limit, lose their jobs to others, and go on: what they still do for
 * those jobs changes nothing, and they take others.
 */
import { describe, expect, onTestFinished } from 'vitest';
import { claimsWait } from '../support/jobs.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { scenario } from './scenario.js';
import { isLong, size } from './size.js';
import { type Stage, useStage, type Worker } from './stage.js';

const createStage = useStage();
const drivers = ['postgres.js', 'node-postgres'] as const;
const rounds = isLong ? 5 : 1;
const timeoutMs = isLong ? 600_000 : 120_000;
const options = { overlaps: true, repeats: true, timeoutMs };
/** How long the jobs take that are there when the workers stand still: long enough to be met at work. */
const longMs = 800;
/** Beyond the rescue limit, two looks and the backoff, so that others have begun the jobs by then. */
const blockedMs = size.rescueAfterMs + 4_000;

describe('two workers beside a third', () => {
  scenario(
    'stand still by SIGSTOP with jobs at work',
    createStage,
    async (stage) => {
      const workers = await startThree(stage);
      for (let round = 0; round < rounds; round++) {
        await atWork(stage, workers);
        await stop(stage, workers);
        await robbed(stage, workers);
        goOn(stage, workers);
        await workOn(stage, workers);
      }
      return rounds * workers.length;
    },
    options,
  );

  scenario(
    'stand still by SIGSTOP with claims in flight',
    createStage,
    async (stage) => {
      const workers = await startThree(stage);
      for (let round = 0; round < rounds; round++) {
        await stage.drained(); // so that all three want jobs
        await claimsWait(stage.sql);
        await stage.sql.begin(async (holder) => {
          await holder`select pg_advisory_xact_lock(1)`;
          await stage.enqueue(5 * slots, { ms: longMs });
          const waiting = () => stage.sql`select 1 from pg_locks where locktype = 'advisory' and not granted`;
          await until(async () => (await waiting()).length === 3, { what: 'the claims to be half-way' });
          for (const worker of workers) worker.kill('SIGSTOP');
        });
        await until(async () => (await held(stage, workers)) === 2 * slots, {
          what: 'the claims to be committed',
        });
        await stage.sql`drop function claim_waits cascade`;
        await robbed(stage, workers);
        goOn(stage, workers);
        await workOn(stage, workers);
      }
      return rounds * workers.length;
    },
    options,
  );

  scenario(
    'stand still by SIGSTOP, and their finishes arrive when others have the jobs',
    createStage,
    async (stage) => {
      const proxies = await Promise.all(drivers.map(() => startTcpProxy(stage.url)));
      onTestFinished(async () => void (await Promise.all(proxies.map((proxy) => proxy.end()))));
      const workers = await startThree(
        stage,
        proxies.map(({ url }) => url),
      );
      for (let round = 0; round < rounds; round++) {
        await atWork(stage, workers);
        for (const proxy of proxies) proxy.hold();
        await until(() => allEnded(stage, workers), { what: 'handlers to end' });
        await stop(stage, workers);
        await robbed(stage, workers);
        for (const proxy of proxies) proxy.release();
        goOn(stage, workers);
        await workOn(stage, workers);
      }
      return rounds * workers.length;
    },
    options,
  );

  scenario(
    'have their event loop blocked',
    createStage,
    async (stage) => {
      const workers = await startThree(stage);
      for (let round = 0; round < rounds; round++) {
        await atWork(stage, workers);
        for (const worker of workers) worker.send(`block ${blockedMs}`);
        await robbed(stage, workers);
        const blocked = (worker: Worker) => worker.messages.filter(({ event }) => event === 'blocked');
        await until(() => workers.every((worker) => blocked(worker).length > round), {
          what: 'the end of the block',
        });
        stage.faultIsOver();
        await workOn(stage, workers);
      }
      return rounds * workers.length;
    },
    options,
  );
});

// As on a machine that sleeps: nobody was there to need a job, and the first to wake must not take those of the others.
scenario(
  'three workers stand still at the same time, and none loses a job',
  createStage,
  async (stage) => {
    const workers = await Promise.all(
      ([...drivers, 'postgres.js'] as const).map((driver) => stage.startWorker({ driver, slots })),
    );
    for (let round = 0; round < rounds; round++) {
      await atWork(stage, workers);
      await stop(stage, workers);
      const fresh = () => stage.sql`
        select 1 from jobs where state = 'running'
        and    heartbeat_at > clock_timestamp() - ${size.rescueAfterMs + 1_000} * interval '1 millisecond'`;
      await until(async () => (await fresh()).length === 0, { what: 'all jobs to look dead' });
      goOn(stage, workers);
      await workOn(stage, workers);
    }
    const heard = workers.flatMap(({ messages }) => messages.map(({ event }) => event));
    expect(heard.filter((event) => event === 'rescued' || event === 'lost')).toEqual([]);
    return rounds * workers.length;
  },
  { timeoutMs },
);

const slots = 20;

/** A worker of each driver, to be harmed, and a third one that is not. Gives the two. */
async function startThree(stage: Stage, urls: readonly string[] = []): Promise<readonly Worker[]> {
  const two = drivers.map((driver, n) => stage.startWorker({ driver, slots, url: urls[n] ?? stage.url }));
  await stage.startWorker({ slots });
  return Promise.all(two);
}

async function stop(stage: Stage, workers: readonly Worker[]): Promise<void> {
  for (const worker of workers) worker.kill('SIGSTOP');
  expect(await held(stage, workers)).toBeGreaterThan(0);
}

function goOn(stage: Stage, workers: readonly Worker[]): void {
  for (const worker of workers) worker.kill('SIGCONT');
  stage.faultIsOver();
}

/** How many jobs are running under claims of these workers. */
async function held({ sql }: Stage, workers: readonly Worker[]): Promise<number> {
  const rows = await sql`
    select 1 from jobs where state = 'running' and locked_by like any(${names(workers)}::text::text[])`;
  return rows.length;
}

/** Enqueues long jobs until a handler of each worker is at work. */
async function atWork({ sql, ledger, enqueue }: Stage, workers: readonly Worker[]): Promise<void> {
  const runs = () => ledger`
    select distinct pid from runs where pid = any(${pids(workers)}::text::int[]) and coalesce(ended, failed) is null`;
  const waiting = () => sql`select 1 from jobs where state = 'available' limit 1`;
  await until(
    async () => {
      if ((await runs()).length === workers.length) return true;
      if ((await waiting()).length === 0) await enqueue(slots, { ms: longMs });
      return false;
    },
    { what: 'all to be at work' },
  );
}

/** Whether handlers have ended and none is at work, but those whose `complete(tx)` is on its way. */
async function allEnded({ ledger }: Stage, workers: readonly Worker[]): Promise<boolean> {
  const [runs] = await ledger`
    select count(*) filter (where ended is not null)::int            as ended,
           count(*) filter (where coalesce(ended, failed) is null and began > clock_timestamp() - interval '1 second')::int as "atWork"
    from   runs where pid = any(${pids(workers)}::text::int[])`;
  return runs?.['ended'] > 0 && runs?.['atWork'] === 0;
}

/** Waits until the workers have lost all their jobs, and others are at some of them. */
async function robbed(stage: Stage, workers: readonly Worker[]): Promise<void> {
  const limit = { timeoutMs: 20_000 };
  await until(async () => (await held(stage, workers)) === 0, { what: 'the rescue of all jobs', ...limit });
  const [claims] = await stage.sql`
    select array_agg(job)::text as jobs from ends where rescued and locked_by like any(${names(workers)}::text::text[])`;
  const again = () => stage.ledger`
    select 1 from runs
    where  job = any(${String(claims?.['jobs'])}::text::bigint[]) and coalesce(ended, failed) is null
    and    not pid = any(${pids(workers)}::text::int[])`;
  await until(async () => (await again()).length >= 5, {
    what: 'their jobs to be at work elsewhere',
    ...limit,
  });
}

/** Enqueues most jobs of a round, and more until each of these workers has done one of them. */
async function workOn(stage: Stage, workers: readonly Worker[]): Promise<void> {
  const before = stage.committed();
  const done = () => stage.ledger`
    select distinct pid from runs
    where  pid = any(${pids(workers)}::text::int[]) and n > ${before} and ended is not null`;
  await stage.enqueue(size.jobs / rounds - 5 * slots, { ms: 50 });
  await until(
    async () => {
      if ((await done()).length === workers.length) return true;
      // A worker whose claim took as long as it stood still rests up to 2 s, in which the others do much.
      await stage.enqueue(slots, { ms: 50 });
      await stage.drained();
      return false;
    },
    { what: 'all to work on', timeoutMs: timeoutMs / 2 },
  );
}

function pids(workers: readonly Worker[]): string {
  return `{${workers.map(({ pid }) => pid)}}`;
}

/** What their claims look like. */
function names(workers: readonly Worker[]): string {
  return `{${workers.map(({ pid }) => `%-${pid}-%`)}}`;
}
