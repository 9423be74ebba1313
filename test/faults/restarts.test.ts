/** Postgres restarts, stays away for longer than the rescue limit, or takes no writes for a while. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe } from 'vitest';
import { scenario } from './scenario.js';
import { isLong, size } from './size.js';
import { type Stage, useStage } from './stage.js';

const createStage = useStage();
const timeoutMs = isLong ? 600_000 : 60_000;
/** Longer than the rescue limit, with room for a dead job to be found. */
const longMs = size.rescueAfterMs + 2_000;

describe.each(['postgres.js', 'node-postgres'] as const)('on %s', (driver) => {
  const name = `Postgres is restarted ${size.restarts} times in a row, fast and immediately in turn`;
  const act = async (stage: Stage) => {
    await Promise.all([stage.startWorker({ driver }), stage.startWorker({ driver })]);
    for (let n = 0; n < size.restarts; n++) {
      await stage.enqueue(Math.floor(size.jobs / size.restarts), { ms: 200 });
      await stage.inFlight(20);
      await stage.server.restart(n % 2 === 0 ? 'fast' : 'immediate');
      stage.faultIsOver();
    }
    return size.restarts;
  };
  scenario(name, createStage, act, { timeoutMs });
});

// A fast stop says goodbye; the longer form shows that it makes no difference.
describe.each(isLong ? (['fast', 'immediate'] as const) : (['immediate'] as const))('stopped %s', (mode) => {
  const name = `Postgres is away for ${size.outageMs / 1_000} s while jobs run and end`;
  const act = async (stage: Stage) => {
    await bothWorkers(stage, 100);
    await stage.enqueue(50, { ms: size.outageMs / 2 });
    await stage.enqueue(50, { ms: size.outageMs + 1_000 });
    await stage.inFlight(100);
    await stage.enqueue(size.jobs - 100, { ms: 100 });
    await stage.inFlight(105);
    await stage.server.halt(mode);
    await delay(size.outageMs);
    await stage.server.start();
    stage.faultIsOver();
    return 1;
  };
  scenario(name, createStage, act, { timeoutMs });
});

const loop = async (stage: Stage) => {
  await bothWorkers(stage, 20);
  await stage.enqueue(size.jobs, { ms: 200 });
  await stage.inFlight(20);
  await stage.server.halt();
  const late = await bothWorkers(stage, 20);
  await Promise.all(late.map(({ message }) => message(({ event }) => event === 'error', 'a failed try')));
  for (let n = 0; n < size.restarts; n++) {
    await stage.server.start();
    await stage.server.halt('immediate');
  }
  await stage.server.start();
  stage.faultIsOver();
  return size.restarts + 1;
};
const loopName = `workers start while Postgres is down, and it falls again ${size.restarts} times as soon as it is up`;
scenario(loopName, createStage, loop, { timeoutMs });

const readOnly = async (stage: Stage) => {
  const { sql, server } = stage;
  const database = sql(new URL(stage.url).pathname.slice(1));
  await bothWorkers(stage, 20);
  await stage.enqueue(Math.floor(size.jobs / 3), { ms: 300 });
  await stage.inFlight(20);

  // What a session says itself goes over it, so workers write on; transactions of handlers fail.
  await sql`alter system set default_transaction_read_only = on`;
  await sql`select pg_reload_conf()`;
  await delay(1_000);
  await sql`alter system reset default_transaction_read_only`;
  await sql`select pg_reload_conf()`;
  stage.faultIsOver();

  await stage.enqueue(Math.floor(size.jobs / 3), { ms: 300 });
  await sql`alter database ${database} set default_transaction_read_only = on`;
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'worker'`;
  await delay(1_000);
  await sql.begin('read write', (tx) => tx`alter database ${database} reset default_transaction_read_only`);
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'worker'`;
  stage.faultIsOver();

  await stage.enqueue(Math.floor(size.jobs / 3), { ms: 300 });
  await stage.inFlight(20);
  await writeFile(join(server.folder, 'data', 'standby.signal'), '');
  await server.restart();
  await delay(longMs);
  await sql`select pg_promote()`;
  stage.faultIsOver();
  return 3;
};
const readOnlyName =
  'transactions are read-only by default, for the server and for new connections; then the server is a standby for longer than the rescue limit';
scenario(readOnlyName, createStage, readOnly, { timeoutMs });

function bothWorkers(stage: Stage, slots: number) {
  return Promise.all([
    stage.startWorker({ driver: 'postgres.js', slots }),
    stage.startWorker({ driver: 'node-postgres', slots }),
  ]);
}
