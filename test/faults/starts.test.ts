/** Workers that are started before their database is there: they wait for it, or are stopped while they do. */
import { expect, onTestFinished } from 'vitest';
import { asAdmin } from '../support/postgres/index.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { scenario } from './scenario.js';
import { isLong, size } from './size.js';
import { type Stage, useStage, type Worker } from './stage.js';

const createStage = useStage();
const drivers = ['postgres.js', 'node-postgres'] as const;
const timeoutMs = isLong ? 600_000 : 120_000;

scenario(
  'workers are started before the server, then the database, then the tables are there',
  createStage,
  async (stage) => {
    await stage.enqueue(size.jobs);
    await stage.sql`alter table jobs rename to jobs_to_come`;
    const name = new URL(stage.url).pathname.slice(1);
    await rename(stage, name, `${name}_to_come`);
    const proxy = await startTcpProxy(stage.url);
    onTestFinished(() => proxy.end());

    proxy.cut();
    const workers = await startBoth(stage, proxy.url);
    await failed(workers, /ECONNREFUSED|ECONNRESET|CONNECTION_CLOSED|terminated/);
    proxy.mend();
    await failed(workers, /database .* does not exist/);
    await rename(stage, `${name}_to_come`, name);
    await failed(workers, /jobs table is not there/);
    await stage.sql`alter table jobs_to_come rename to jobs`;
    stage.faultIsOver();
    await Promise.all(workers.map((worker) => worker.message(({ event }) => event === 'completed', 'work')));
    // The comparison with what this version needs waited for the database as well.
    const checks = workers.flatMap(({ messages }) =>
      messages.filter((message) => message.event === 'error' && message.during === 'check'),
    );
    expect(checks).toEqual([]);
    return 3;
  },
  { timeoutMs },
);

// What was started in vain leaves nothing behind, and the next worker is not harmed by it.
scenario(
  'workers are stopped before they ever had a connection',
  createStage,
  async (stage) => {
    const proxy = await startTcpProxy(stage.url);
    onTestFinished(() => proxy.end());
    await stage.enqueue(size.jobs);

    proxy.cut();
    const urls = [proxy.url, nowhere(stage.url)];
    const workers = (await Promise.all(urls.map((url) => startBoth(stage, url)))).flat();
    const began = performance.now();
    for (const worker of workers) worker.kill('SIGTERM');
    for (const { exit, output } of workers) expect(await exit, output()).toEqual({ code: 0, signal: null });
    // No job runs, so there is nothing to wait for; postgres.js' own end takes a second.
    expect(performance.now() - began).toBeLessThan(4_000);
    await startBoth(stage, stage.url);
    stage.faultIsOver();
    return workers.length;
  },
  { timeoutMs },
);

function startBoth(stage: Stage, url: string): Promise<Worker[]> {
  return Promise.all(drivers.map((driver) => stage.startWorker({ driver, url })));
}

/** Waits until each worker has told of such a failure. */
async function failed(workers: readonly Worker[], why: RegExp): Promise<void> {
  const fits = (message: Worker['messages'][number]) =>
    message.event === 'error' && why.test(message.message);
  await Promise.all(workers.map((worker) => worker.message(fits, `an error that says ${why}`)));
}

/** The harness' own connections are ended for it; they come back by themselves. */
async function rename({ server }: Stage, from: string, to: string): Promise<void> {
  await asAdmin(server.url, async (sql) => {
    await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${from}`;
    await sql`alter database ${sql(from)} rename to ${sql(to)}`;
  });
}

/** A server that is there, and a database that is not. */
function nowhere(url: string): string {
  return Object.assign(new URL(url), { pathname: 'nowhere' }).href;
}
