/**
 * Backends of the workers are killed: in each role while they are in the middle of it, and at random. `terminate` ends one
 * session; SIGKILL of its process makes Postgres end all of them and recover.
 */
import { setTimeout as delay } from 'node:timers/promises';
import postgres, { type Sql } from 'postgres';
import { describe } from 'vitest';
import { until } from '../support/until.js';
import { completeEvery } from './registry.js';
import { scenario } from './scenario.js';
import { isLong, size } from './size.js';
import { type Stage, useStage, type Worker } from './stage.js';

const createStage = useStage();
const timeoutMs = isLong ? 600_000 : 90_000;

const roles = ['rescue', 'claim', 'heartbeat', 'finish', 'complete'] as const;
type Role = (typeof roles)[number];

const ways: { [way: string]: (sql: Sql, pid: number) => unknown } = {
  'are terminated': (sql, pid) => sql`select pg_terminate_backend(${pid})`.catch(() => {}),
  'are killed with SIGKILL': (_, pid) => process.kill(pid, 'SIGKILL'),
};

describe.each(Object.keys(ways))('backends %s', (way) => {
  scenario('in a rescue, a claim, a heartbeat, a finish and a complete(tx)', createStage, everyRole, {
    timeoutMs,
  });

  async function everyRole(stage: Stage): Promise<number> {
    await rolesWait(stage.sql);
    const workers = await Promise.all([
      stage.startWorker({ driver: 'postgres.js' }),
      stage.startWorker({ driver: 'node-postgres' }),
    ]);
    const doomed = await stage.startWorker();
    let faults = 0;
    for (const role of roles) {
      await stage.enqueue(size.jobs / roles.length, { ms: 400 });
      if (role === 'rescue') {
        await stage.atWork(doomed);
        await stage.kill(doomed);
      }
      faults += await killInRole(stage, workers, role);
      stage.faultIsOver();
    }
    return faults;
  }

  /** Kills backends in the middle of the role until every worker has noticed; of rescuers there is one at a time. */
  async function killInRole(stage: Stage, workers: readonly Worker[], role: Role): Promise<number> {
    const before = workers.map(({ messages }) => messages.length);
    const noticed = async (worker: Worker, n: number) =>
      role === 'complete'
        ? (await failedCompletes(stage, worker)) > 0
        : worker.messages.slice(before[n]).some((told) => told.event === 'error' && told.during === role);
    let killed = 0;
    await until(
      async () => {
        await whileRoleWaits(stage, role, async (waiting) => {
          for (const pid of waiting) await ways[way]?.(stage.sql, pid);
          killed += waiting.length;
          const gone = () => stage.sql`select from pg_stat_activity where pid in ${stage.sql(waiting)}`;
          await until(async () => (await gone()).length === 0, { what: 'the backends to be gone' });
        });
        const all = await Promise.all(workers.map(noticed));
        return role === 'rescue' ? all.includes(true) : all.every(Boolean);
      },
      { what: `backends to be killed in a ${role}`, timeoutMs: 20_000 },
    );
    return killed;
  }
});

describe.each(['postgres.js', 'node-postgres'] as const)('on %s', (driver) => {
  scenario(`${size.breaks} backends are terminated at random under load`, createStage, atRandom, {
    timeoutMs,
  });

  async function atRandom(stage: Stage): Promise<number> {
    await Promise.all([stage.startWorker({ driver }), stage.startWorker({ driver })]);
    await stage.enqueue(size.jobs, { ms: 200 });
    await stage.inFlight(20);
    let killed = 0;
    while (killed < size.breaks) {
      const [row] = await stage.sql`
        select count(pg_terminate_backend(pid))::int as n
        from   (select pid from pg_stat_activity where application_name = 'worker'
                order by state = 'idle', random() limit 1) as one`;
      killed += row?.['n'];
      await delay(Math.random() * 100);
    }
    stage.faultIsOver();
    return killed;
  }
});

/** The first attempts of such jobs do not fail by themselves. */
async function failedCompletes({ ledger }: Stage, { pid }: Worker): Promise<number> {
  const failed = await ledger`
    select from runs
    where  pid = ${pid ?? 0} and failed is not null and n % ${completeEvery}::int = 0`;
  return failed.length;
}

/** From now on whoever changes a row waits, in the middle of it, for the holder of its role's lock. */
async function rolesWait(sql: Sql): Promise<void> {
  await sql.unsafe(`
    create function role_waits() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock_shared(hashtext(case
        when current_query() like '%rescued as (%'           then 'rescue'
        when current_query() like '%claimed as (%'           then 'claim'
        when current_query() like '%renewed as (%'           then 'heartbeat'
        when current_query() like '%jsonb_to_recordset(%'    then 'finish'
        when ltrim(current_query(), E' \\n') like 'delete %' then 'complete'
      end));
      return coalesce(new, old);
    end $$;
    create trigger role_waits before update or delete on jobs for each row execute function role_waits()`);
}

/** Holds the role's lock until somebody waits for it; gives the backends that do. */
async function whileRoleWaits(
  stage: Stage,
  role: Role,
  work: (waiting: readonly number[]) => Promise<void>,
): Promise<void> {
  const holder = postgres(stage.url, { max: 1, onnotice: () => {} });
  try {
    await holder`select pg_advisory_lock(hashtext(${role}))`;
    const waiting = await until(
      async () => {
        const rows = await stage.sql<{ pid: number }[]>`
          select pid from pg_locks where locktype = 'advisory' and not granted and mode = 'ShareLock'`;
        return rows.length > 0 && rows.map(({ pid }) => pid);
      },
      { what: `a ${role}` },
    );
    await work(waiting || []);
  } finally {
    await holder.end({ timeout: 0 }).catch(() => {});
  }
}
