/** How soon the jobs of a killed process run again, and that no live worker is taken for dead. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { until } from '../support/until.js';
import { scenario } from './scenario.js';
import { isLong, size } from './size.js';
import { type Stage, useStage, type Worker } from './stage.js';

const createStage = useStage();

/** The defaults of the library: its limit plays no part in what follows. */
const limits = { rescueAfterMs: 60_000, heartbeatMs: 10_000 };
/** The others look every two seconds at most, and then this long on a busy machine. */
const seenByOthersMs = 3_500;

describe.each(['postgres.js', 'node-postgres'] as const)('on %s', (driver) => {
  scenario(
    'the jobs of a killed process run again long before its heartbeats are old',
    createStage,
    async (stage) => {
      await stage.startWorker({ driver, ...limits });
      for (let n = 0; n < size.deaths; n++) {
        const doomed = await stage.startWorker({ driver, ...limits });
        await untilSessions(stage, 2);
        await delay(seenByOthersMs);
        await stage.enqueue(100, { ms: 500 });
        await stage.atWork(doomed);
        await stage.kill(doomed);
        stage.faultIsOver();
        await stage.drained({ timeoutMs: 20_000 });
      }
      expect((await stage.recovery()).orphansMs).toBeLessThan(10_000);
      return size.deaths;
    },
  );

  scenario(
    'live workers whose sessions are killed at random keep their jobs',
    createStage,
    async (stage) => {
      const workers = await startWorkers(stage, 3);
      await untilSessions(stage, 3);
      await delay(seenByOthersMs);
      await stage.enqueue(size.jobs, { ms: 300 });
      let killed = 0;
      await until(
        async () => {
          killed += await killSessions(stage, Math.random() < 0.3 ? 3 : 1);
          await delay(Math.random() * 600);
          const [left] = await stage.sql`select count(*)::int as n from jobs`;
          return left?.['n'] === 0;
        },
        { what: 'the jobs to end', timeoutMs: isLong ? 600_000 : 60_000 },
      );
      expectNoneTakenForDead(workers);
      return killed;
    },
    { timeoutMs: isLong ? 700_000 : 120_000 },
  );

  scenario('nor does a worker lose them that gets no session for six seconds', createStage, async (stage) => {
    const workers = await startWorkers(stage, 2);
    await untilSessions(stage, 2);
    await delay(seenByOthersMs);
    await stage.enqueue(40, { ms: 8_000 });
    for (const worker of workers) await stage.atWork(worker);
    const until = Date.now() + 6_000;
    let killed = 0;
    while (Date.now() < until) {
      killed += await killSessions(stage, 1, workers[0]);
      await delay(20);
    }
    stage.faultIsOver();
    await stage.drained();
    expectNoneTakenForDead(workers);
    return killed;
  });

  scenario('nor one that stands still for six seconds', createStage, async (stage) => {
    const workers = await startWorkers(stage, 2);
    await untilSessions(stage, 2);
    await delay(seenByOthersMs);
    await stage.enqueue(40, { ms: 1_000 });
    const [first] = workers;
    if (!first) throw new Error('There is no worker.');
    await stage.atWork(first);
    first.kill('SIGSTOP');
    await delay(6_000);
    first.kill('SIGCONT');
    stage.faultIsOver();
    await stage.drained();
    expectNoneTakenForDead(workers);
    return 1;
  });

  function startWorkers(stage: Stage, count: number): Promise<Worker[]> {
    return Promise.all(Array.from({ length: count }, () => stage.startWorker({ driver, ...limits })));
  }
});

const sessionsOf =
  "locktype = 'advisory' and mode = 'ExclusiveLock' and objsubid = 2 and granted and database = (select oid from pg_database where datname = current_database())";

/** Until so many workers hold the lock of their session. */
async function untilSessions({ sql }: Stage, count: number): Promise<void> {
  const held = () => sql.unsafe(`select pid from pg_locks where ${sessionsOf}`);
  await until(async () => (await held()).length >= count, { what: 'the locks of the sessions' });
}

/** Ends up to so many sessions, of one worker or of any. */
async function killSessions({ sql }: Stage, count: number, of?: Worker): Promise<number> {
  const killed = await sql.unsafe(
    `select pg_terminate_backend(pid) from pg_locks
     where  ${sessionsOf} and ($2::text is null or to_hex(objid::bigint) = $2)
     order  by random() limit $1`,
    [count, of ? keyOf(of) : null],
  );
  return killed.length;
}

function keyOf(worker: Worker): string {
  const started = worker.messages.find((message) => message.event === 'started');
  return (started?.worker.slice(-8) ?? 'none').replace(/^0+/, '');
}

function expectNoneTakenForDead(workers: readonly Worker[]): void {
  const told = workers.flatMap(({ messages }) => messages.map(({ event }) => event));
  expect(told.filter((event) => event === 'rescued' || event === 'lost')).toEqual([]);
}
