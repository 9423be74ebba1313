/** Workers that are stopped, at any moment and whatever the database does: what they had goes on elsewhere. */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { claimsWait } from '../support/jobs.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { useProcesses } from '../support/worker-process.js';
import type { Config, Message } from './programs/cycles.js';
import { scenario } from './scenario.js';
import { isLong, size } from './size.js';
import { type Stage, useStage, type Worker } from './stage.js';

const createStage = useStage();
const processes = useProcesses();
const cycles = fileURLToPath(new URL('./programs/cycles.ts', import.meta.url));
const drivers = ['postgres.js', 'node-postgres'] as const;
const timeoutMs = isLong ? 600_000 : 120_000;
/** What a stop may take beyond its grace; and a message, or the end of a process, on a busy machine. */
const stopMs = 2_000;
const messageMs = 1_000;

scenario(
  `workers in two processes are stopped ${size.stops} times at random moments`,
  createStage,
  async (stage) => {
    await stage.enqueue(size.jobs / 2, { ms: 300 });
    await stage.enqueue(size.jobs / 2, { ms: 600 });
    const both = drivers.map((driver) =>
      processes.start<Message>(cycles, {
        ...stage.config({ driver, slots: 10 }),
        cycles: size.stops / drivers.length,
        longestMs: 500,
        graces: [0, 0, 100, 2_000],
      } satisfies Config),
    );
    for (const { exit, output } of both) expect(await exit, output()).toEqual({ code: 0, signal: null });
    stage.faultIsOver();
    const stops = both.flatMap(({ messages }) => messages.filter((message) => message.event === 'stopped'));
    expect(stops).toHaveLength(size.stops);
    expect(stops.filter(({ tookMs, graceMs }) => tookMs > graceMs + stopMs)).toEqual([]);

    expect(await stage.sql`select id from jobs where state = 'running'`).toEqual([]);
    await stage.startWorker({ slots: 100 });
    await stage.drained({ timeoutMs });
    // Started ones keep their attempt, others get it back, and all were given back rather than left to the rescuer.
    const odd = await stage.ledger`
      select job, attempt, nth
      from   (select job, attempt, row_number() over (partition by job order by id) as nth from runs) as runs
      where  attempt <> nth`;
    expect(odd).toEqual([]);
    expect(await stage.sql`select job from ends where rescued`).toEqual([]);
    return stops.length;
  },
  { timeoutMs },
);

// Of three workers one gets a SIGTERM and drains, one gets two and gives its jobs back, one is killed before it is done.
scenario(
  'SIGTERM at a random moment: once, twice, and followed by SIGKILL',
  createStage,
  async (stage) => {
    const rounds = isLong ? 20 : 2;
    await stage.startWorker();
    for (let round = 0; round < rounds; round++) {
      const driver = drivers[round % 2] ?? 'postgres.js';
      const [once, twice, killed] = await startThree(stage, driver);
      await stage.enqueue(100, { ms: 700 });
      await delay(Math.random() * 1_500);
      for (const worker of [once, twice, killed]) worker.kill('SIGTERM');
      for (const worker of [once, twice, killed]) await heard(worker, 'stopping');

      twice.kill('SIGTERM');
      const began = performance.now();
      await stage.kill(killed);
      stage.faultIsOver();
      await heard(twice, 'stopped');
      expect(performance.now() - began).toBeLessThan(stopMs + messageMs);
      // Where nothing was at work it had stopped by then, and the signal is for what is left of its process.
      const end = await twice.exit;
      if (end.signal !== 'SIGTERM') expect(end).toEqual({ code: 0, signal: null });
      expect(await once.exit).toEqual({ code: 0, signal: null });
      await stage.enqueue(size.jobs / rounds - 100);
      await stage.drained({ timeoutMs });
    }
    return rounds * 3;
  },
  { timeoutMs, repeats: true },
);

scenario(
  'SIGTERM in the middle of a claim, and of a rescue',
  createStage,
  async (stage) => {
    const { sql } = stage;
    await claimsWait(sql);
    const workers = await Promise.all(drivers.map((driver) => stage.startWorker({ driver })));
    await sql.begin(async (holder) => {
      await holder`select pg_advisory_xact_lock(1)`;
      await stage.enqueue(size.jobs);
      await halfway(stage, workers.length);
      for (const worker of workers) worker.kill('SIGTERM');
      for (const worker of workers) await heard(worker, 'stopping');
    });
    for (const { exit } of workers) expect(await exit).toEqual({ code: 0, signal: null });
    await sql`drop function claim_waits cascade`;
    const touched = await sql`select id from jobs where state <> 'available' or attempts <> 0`;
    expect([...touched, ...(await stage.ledger`select id from runs`)]).toEqual([]);

    await rescuesWait(sql);
    for (const [n, driver] of drivers.entries()) {
      // A name of its own each time: they may be the same jobs.
      await sql`
        update jobs
        set    state = 'running', attempts = 1, locked_by = ${`dead/${n}`}, started_at = now() - interval '1 hour',
               heartbeat_at = now() - interval '1 hour'
        where  id in (select id from jobs where state = 'available' limit 10)`;
      const worker = await stage.startWorker({ driver, graceMs: 1_000 });
      await sql.begin(async (holder) => {
        await holder`select pg_advisory_xact_lock(1)`;
        await halfway(stage, 1);
        const began = performance.now();
        worker.kill('SIGTERM');
        await heard(worker, 'stopped');
        expect(performance.now() - began).toBeLessThan(1_000 + stopMs + messageMs);
      });
      expect(await worker.exit).toEqual({ code: 0, signal: null });
    }
    stage.faultIsOver();
    await stage.startWorker();
    return 4;
  },
  { timeoutMs },
);

// Cut off it ends by itself; where nothing answers, the app's pool may keep the process, until it is killed.
scenario(
  'SIGTERM while the database is cut off, and while it does not answer',
  createStage,
  async (stage) => {
    const [cut, silent] = [await startTcpProxy(stage.url), await startTcpProxy(stage.url)];
    onTestFinished(async () => void (await Promise.all([cut.end(), silent.end()])));
    const graceMs = 1_000;
    const start = (url: string) =>
      Promise.all(drivers.map((driver) => stage.startWorker({ driver, url, graceMs })));
    const [refused, unanswered] = await Promise.all([start(cut.url), start(silent.url)]);
    const workers = [...refused, ...unanswered];
    // Long, so that no handler has a transaction on a connection that breaks: postgres.js may end the process for that
    // (porsager/postgres#1208).
    await stage.enqueue(workers.length * 20, { ms: 3_000 });
    for (const worker of workers) await stage.atWork(worker);

    cut.cut();
    silent.blackHole();
    await Promise.all(refused.map((worker) => heard(worker, 'error')));
    const began = performance.now();
    for (const worker of workers) worker.kill('SIGTERM');
    await Promise.all(workers.map((worker) => heard(worker, 'stopped')));
    expect(performance.now() - began).toBeLessThan(graceMs + stopMs + messageMs);
    for (const { exit, output } of refused) expect(await exit, output()).toEqual({ code: 0, signal: null });
    for (const worker of workers) await stage.kill(worker);
    stage.faultIsOver();
    await stage.startWorker({ slots: 100 });
    await stage.enqueue(size.jobs - workers.length * 20);
    return workers.length;
  },
  { timeoutMs, repeats: true },
);

async function startThree(
  stage: Stage,
  driver: (typeof drivers)[number],
): Promise<readonly [Worker, Worker, Worker]> {
  const start = () => stage.startWorker({ driver, slots: 10 });
  return Promise.all([start(), start(), start()]);
}

function heard(worker: Worker, event: Worker['messages'][number]['event']): Promise<unknown> {
  return worker.message((message) => message.event === event, event);
}

/** Waits until so many statements wait for the advisory lock. */
async function halfway({ sql }: Stage, count: number): Promise<void> {
  const waiting = () => sql`select 1 from pg_locks where locktype = 'advisory' and not granted`;
  await until(async () => (await waiting()).length === count, { what: `${count} statements to be half-way` });
}

/** As `claimsWait`, for rescues of the claims `dead/…`. */
async function rescuesWait(sql: Stage['sql']): Promise<void> {
  await sql.unsafe(`
    create function rescue_waits() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(1);
      return new;
    end $$;
    create trigger rescue_waits before update on jobs for each row
      when (old.locked_by like 'dead/%') execute function rescue_waits()`);
}
