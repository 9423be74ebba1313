/**
 * What a scenario has: a Postgres to be harmed, another that keeps the ledger, jobs, worker processes, and the times at
 * which something was done to them.
 */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres, { type Sql } from 'postgres';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createQueue } from '../../src/index.js';
import { readMigrations } from '../support/migrations.js';
import { type EmbeddedPostgres, type Settings, startEmbedded } from '../support/postgres/index.js';
import { type UntilOptions, until } from '../support/until.js';
import { useProcesses, type WorkerProcess } from '../support/worker-process.js';
import { type Audit, audit, createLedger, createRecord } from './audit.js';
import type { Config, Message } from './programs/worker.js';
import { faultRegistry, howOf, type Work } from './registry.js';
import { size } from './size.js';

const program = fileURLToPath(new URL('./programs/worker.ts', import.meta.url));

export type Worker = WorkerProcess<Message>;

export interface Stage {
  readonly server: EmbeddedPostgres;
  /** For the harness itself; reconnects at once when the server is back. */
  readonly sql: Sql;
  readonly ledger: Sql;
  /** The harmed server's database, for proxies and pools of a scenario's own. */
  readonly url: string;
  /** Enqueues committed jobs, and a tenth as many in transactions that are rolled back. */
  enqueue(count: number, work?: { readonly ms?: number }): Promise<void>;
  /** How many committed jobs there are by now. */
  committed(): number;
  /** What a worker's process gets: the usual settings where nothing else is said. */
  config(config?: Partial<Config>): Config;
  startWorker(config?: Partial<Config>): Promise<Worker>;
  /** Waits until handlers of the worker are at work. */
  atWork(worker: Worker): Promise<void>;
  /** Waits until so many handlers are at work in this moment. */
  inFlight(count: number): Promise<void>;
  /** Kills the process and notes the time, up to which its runs count as being at work. */
  kill(worker: Worker): Promise<void>;
  /** Notes that the fault is over now: recovery counts from here. */
  faultIsOver(): void;
  /** Waits until no job is waiting or running. */
  drained(options?: Partial<UntilOptions>): Promise<void>;
  audit(): Promise<Audit>;
  /** What workers wrote that ended by an error. */
  fallen(): string[];
  /** The longest time in ms from the end of a fault to the next end of a job, and of an orphan to its next run. */
  recovery(): Promise<{ readonly againMs: number; readonly orphansMs: number }>;
}

/** Call it at the top of a file: servers for the file, a database for each scenario. */
export function useStage(settings: Settings = {}): () => Promise<Stage> {
  const processes = useProcesses();
  let server: EmbeddedPostgres;
  let ledgerServer: EmbeddedPostgres;
  let ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    [server, ledgerServer] = await Promise.all([startEmbedded({ settings }), startEmbedded()]);
  }, 60_000);
  afterEach(async () => {
    const these = ends;
    ends = [];
    for (const end of these) await end();
  });
  afterAll(async () => {
    await Promise.all([server?.stop(), ledgerServer?.stop()]);
  });

  return async () => {
    const name = `scenario_${randomUUID().slice(0, 8)}`;
    const [url, ledgerUrl] = [await createDatabase(server, name), await createDatabase(ledgerServer, name)];
    const sql = client(url);
    const ledger = client(ledgerUrl);
    ends.push(() => Promise.all([sql.end({ timeout: 1 }), ledger.end({ timeout: 1 })]));
    for (const migration of await readMigrations()) await sql.unsafe(migration);
    await createRecord(sql);
    await createLedger(ledger);

    const { enqueueMany } = createQueue(faultRegistry(size.rescueAfterMs));
    const db = drizzle({ client: client(url) });
    ends.push(() => db.$client.end({ timeout: 1 }));
    let committed = 0;
    const faultEnds: Date[] = [];
    const workers: Worker[] = [];

    function fullConfig(config: Partial<Config> = {}): Config {
      return {
        url,
        ledgerUrl,
        driver: 'postgres.js',
        slots: 20,
        heartbeatMs: size.heartbeatMs,
        rescueAfterMs: size.rescueAfterMs,
        graceMs: 5_000,
        pool: 10,
        ...config,
      };
    }

    async function startWorker(config?: Partial<Config>): Promise<Worker> {
      const worker = processes.start<Message>(program, fullConfig(config));
      workers.push(worker);
      await worker.message(({ event }) => event === 'started', 'its start', 30_000);
      return worker;
    }

    return {
      server,
      sql,
      ledger,
      url,
      committed: () => committed,
      async enqueue(count, { ms = 20 } = {}) {
        const rollback = new Error('rolled back');
        await db
          .transaction(async (tx) => {
            await enqueueMany(tx, numbered(1, Math.ceil(count / 10), ms, -1));
            throw rollback;
          })
          .catch((error: unknown) => {
            if (error !== rollback) throw error;
          });
        await db.transaction((tx) => enqueueMany(tx, numbered(committed + 1, count, ms, 1)));
        committed += count;
      },
      config: fullConfig,
      startWorker,
      async atWork({ pid }) {
        const runs = () => ledger`
          select 1 from runs where pid = ${pid ?? 0} and coalesce(ended, failed, killed) is null limit 1`;
        await until(async () => (await runs()).length, { what: 'a worker to be at work' });
      },
      async inFlight(count) {
        const runs = () => ledger`select from runs where coalesce(ended, failed, killed) is null`;
        await until(async () => (await runs()).length >= count, { what: `${count} handlers to be at work` });
      },
      async kill(worker) {
        worker.kill('SIGKILL');
        await worker.exit;
        await ledger`
          update runs set killed = clock_timestamp() where pid = ${worker.pid ?? 0} and killed is null`;
      },
      faultIsOver: () => void faultEnds.push(new Date()),
      async drained(options) {
        await until(
          async () => {
            const [row] =
              await sql`select count(*)::int as n from jobs where state in ('available', 'running')`;
            return row?.['n'] === 0;
          },
          { what: 'every job to end', timeoutMs: 120_000, ...options },
        );
      },
      audit: () => audit(sql, ledger, committed),
      fallen: () => workers.filter((worker) => worker.exited()?.code).map((worker) => worker.output()),
      async recovery() {
        const [again] = await sql`
          select coalesce(max(ms), 0)::int as ms
          from   unnest(string_to_array(${faultEnds.map((at) => at.toISOString()).join(' ')}::text, ' ')::timestamptz[]) as over(at)
          cross  join lateral (
            select extract(epoch from min(ends.at) - over.at) * 1000 as ms from ends where ends.at > over.at
          ) as next`;
        const [orphans] = await ledger`
          select coalesce(max(extract(epoch from next.began - run.killed) * 1000), 0)::int as ms
          from   runs as run
          cross  join lateral (select min(began) as began from runs where job = run.job and id > run.id) as next
          where  run.killed is not null and coalesce(run.ended, run.failed) is null`;
        return { againMs: Number(again?.['ms']), orphansMs: Number(orphans?.['ms']) };
      },
    };
  };
}

function numbered(first: number, count: number, ms: number, sign: 1 | -1) {
  return Array.from({ length: count }, (_, index) => {
    const n = first + index;
    const payload: Work = { n: sign * n, ms, how: howOf(n) };
    return { kind: 'work', payload } as const;
  });
}

async function createDatabase(server: EmbeddedPostgres, name: string): Promise<string> {
  const admin = client(server.url);
  await admin`create database ${admin(name)}`;
  await admin.end();
  const url = new URL(server.url);
  url.pathname = name;
  return url.href;
}

function client(url: string): Sql {
  return postgres(url, {
    fetch_types: false,
    backoff: () => 0.1,
    onnotice: () => {},
    connection: { application_name: 'harness' },
  });
}
