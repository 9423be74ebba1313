/**
 * Other sessions in the same database: an app that takes all connections, transactions that stay open with a snapshot or
 * with locks, and maintenance. Autovacuum is off.
 */
import { setTimeout as delay } from 'node:timers/promises';
import postgres, { type Sql } from 'postgres';
import { until } from '../support/until.js';
import { scenario } from './scenario.js';
import { isLong, size } from './size.js';
import { type Stage, useStage, type Worker } from './stage.js';

const createStage = useStage({ autovacuum: 'off' });
const timeoutMs = isLong ? 600_000 : 90_000;
/** Longer than the rescue limit, with room for a dead job to be found. */
const longMs = size.rescueAfterMs + 1_500;

const roomForThree = async (stage: Stage) => {
  const workers = await bothWorkers(stage, { slots: 5, pool: 12 });
  await stage.enqueue(size.jobs / 2, { ms: 200 });
  await stage.inFlight(10);
  await Promise.all(workers.map((worker) => holdConnections(worker, 4)));
  stage.faultIsOver();
  return workers.length;
};
const roomName = 'the app takes all connections but those of the handlers and three more';
scenario(roomName, createStage, roomForThree, { timeoutMs });

const noRoom = async (stage: Stage) => {
  const workers = await bothWorkers(stage, { slots: 5, pool: 10 });
  await stage.enqueue(size.jobs, { ms: 200 });
  await stage.inFlight(10);
  await stage.startWorker();
  await Promise.all(workers.map((worker) => holdConnections(worker, 10)));
  stage.faultIsOver();
  return workers.length;
};
scenario('the app takes all connections of two workers beside a third', createStage, noRoom, {
  timeoutMs,
  overlaps: true,
  repeats: true,
});

const rowLocks = async (stage: Stage) => {
  const { sql } = stage;
  await stage.enqueue(size.jobs, { ms: 300 });
  await whileOpen(stage, async (app) => {
    await app`select from jobs where state = 'available' order by id limit 100 for update`;
    await bothWorkers(stage);
    await stage.inFlight(20);
    await whileOpen(stage, async (other) => {
      await other`select from jobs where state = 'running' for update`;
      await delay(longMs);
    });
    stage.faultIsOver();
    const unlocked = () => sql`select from jobs where state in ('available', 'running') offset 100`;
    await until(async () => (await unlocked()).length === 0, {
      what: 'the jobs that nobody holds to end',
      timeoutMs: timeoutMs / 2,
    });
  });
  stage.faultIsOver();
  return 2;
};
const rowName =
  'an app holds rows: 100 that are available, and for longer than the rescue limit all that run';
scenario(rowName, createStage, rowLocks, { timeoutMs });

for (const mode of ['share', 'access exclusive'] as const) {
  const tableLock = async (stage: Stage) => {
    await bothWorkers(stage);
    await stage.enqueue(40, { ms: longMs + 1_000 });
    await stage.inFlight(40);
    // It has no heartbeats to send, and does not notice that those of the others do not get through.
    await stage.startWorker();
    await delay(3 * size.heartbeatMs);
    await whileOpen(stage, async (app) => {
      await app.unsafe(`lock table jobs in ${mode} mode`);
      // The worst moment to let go: when a rescue has found jobs dead, and would have its turn together with the heartbeats.
      const rescue = () => stage.sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and query like '%rescued as (%'`;
      await until(async () => (await rescue()).length, { what: 'a rescue', timeoutMs: longMs }).catch(
        () => {},
      );
    });
    stage.faultIsOver();
    await stage.enqueue(size.jobs - 40, { ms: 100 });
    return 1;
  };
  const name = `an app holds the table in ${mode} mode for longer than the rescue limit`;
  scenario(name, createStage, tableLock, { timeoutMs });
}

const maintenance = async (stage: Stage) => {
  const commands = [
    'vacuum full jobs',
    'reindex table jobs',
    'cluster jobs using jobs_pkey',
    'reindex table concurrently jobs',
    'vacuum (freeze, analyze) jobs',
  ];
  await bothWorkers(stage);
  for (const command of commands) {
    await stage.enqueue(size.jobs / commands.length, { ms: 200 });
    await stage.inFlight(20);
    await stage.sql.unsafe(command);
    stage.faultIsOver();
  }
  return commands.length;
};
const maintenanceName = 'vacuum full, reindex and cluster during the work';
scenario(maintenanceName, createStage, maintenance, { timeoutMs });

const snapshot = async (stage: Stage) => {
  await whileOpen(stage, async (app) => {
    await app`set transaction isolation level repeatable read`;
    await app`select from jobs`;
    await bothWorkers(stage, { slots: 50 });
    await stage.enqueue(isLong ? 20_000 : 4 * size.jobs, { ms: 0 });
    await stage.drained({ timeoutMs });
  });
  stage.faultIsOver();
  return 1;
};
const snapshotName =
  'a session that is idle in its transaction holds a snapshot from the beginning to the end';
scenario(snapshotName, createStage, snapshot, { timeoutMs });

/** Has the app of that worker take so many connections of its pool for longer than the rescue limit. */
async function holdConnections(worker: Worker, connections: number): Promise<void> {
  worker.send(`hold ${connections} ${longMs}`);
  await worker.message(({ event }) => event === 'holding', 'the app has the connections');
  await worker.message(({ event }) => event === 'let go', 'the app has given them back');
}

/** A session that is idle in its transaction, but for what `work` does in it. */
async function whileOpen({ url }: Stage, work: (app: Sql) => Promise<void>): Promise<void> {
  const app = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await app`begin`;
    await work(app);
  } finally {
    await app.end({ timeout: 0 }); // which rolls back
  }
}

function bothWorkers(stage: Stage, config: { readonly slots?: number; readonly pool?: number } = {}) {
  return Promise.all([
    stage.startWorker({ driver: 'postgres.js', ...config }),
    stage.startWorker({ driver: 'node-postgres', ...config }),
  ]);
}
