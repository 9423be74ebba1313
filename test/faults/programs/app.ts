/**
 * What an app with a worker has: a pool, and handlers, which write what they do into the ledger on another server, out of
 * reach of the faults.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { createWorker, type Worker } from '../../../src/worker.js';
import { faultRegistry } from '../registry.js';

export interface Config {
  readonly url: string;
  readonly ledgerUrl: string;
  readonly driver: 'postgres.js' | 'node-postgres';
  readonly slots: number;
  readonly heartbeatMs: number;
  readonly rescueAfterMs: number;
  readonly graceMs: number;
  /** The most connections of its pool. */
  readonly pool: number;
}

export interface App {
  /** A worker that is not started. */
  worker(): Worker;
  /** node-postgres' pool, the one of the two that has listeners. */
  readonly pool: pg.Pool | undefined;
  /** Takes so many of the pool's connections for so long, and calls `taken` when it has them all. */
  hold(connections: number, ms: number, taken: () => void): Promise<void>;
  /** Ends the connections. */
  end(): Promise<void>;
}

export function openApp(config: Config): App {
  const ledger = postgres(config.ledgerUrl, {
    max: 20,
    onnotice: () => {},
    connection: { application_name: 'ledger' },
  });
  const { db, pool, end } = connect(config);
  const registry = faultRegistry(config.rescueAfterMs);

  return {
    pool,
    worker: () =>
      createWorker({
        db,
        registry,
        queues: { default: config.slots },
        heartbeatMs: config.heartbeatMs,
        pollIntervalMs: 100,
        graceMs: config.graceMs,
        log: false,
        handlers: {
          work: async ({ n, ms, how }, job) => {
            const [run] = await ledger`
              insert into runs (job, n, locked_by, attempt, pid)
              values (${job.id}, ${n}, ${job.lockedBy}, ${job.attempt}, ${process.pid}) returning id`;
            try {
              if (ms > 0) await delay(ms, undefined, { signal: job.signal });
              if (how === 'fail once' && job.attempt === 1) throw new Error('the first attempt fails');
              if (how === 'complete') {
                await db.transaction(async (tx) => {
                  await tx.execute(
                    sql`insert into effects (n, locked_by) values (${n}::int, ${job.lockedBy})`,
                  );
                  await job.complete(tx);
                });
              }
            } catch (error) {
              await ledger`update runs set failed = clock_timestamp() where id = ${run?.['id']}`;
              throw error;
            }
            await ledger`update runs set ended = clock_timestamp() where id = ${run?.['id']}`;
          },
        },
      }),
    async hold(connections, ms, taken) {
      let held = 0;
      const holdOne = () =>
        db.transaction(async (tx) => {
          await tx.execute(sql`select`);
          if (++held === connections) taken();
          await delay(ms);
        });
      await Promise.all(Array.from({ length: connections }, holdOne));
    },
    async end() {
      await end();
      await ledger.end({ timeout: 1 });
    },
  };
}

export function connect({ driver, url, pool: max }: Pick<Config, 'driver' | 'url' | 'pool'>) {
  if (driver === 'node-postgres') {
    const pool = new pg.Pool({ connectionString: url, max, application_name: 'worker' });
    return { db: overPg({ client: pool }), pool, end: () => pool.end() };
  }
  const client = postgres(url, {
    max,
    // As the README advises: its type query on a new connection cannot be caught, and it waits up to 20 s to connect again.
    fetch_types: false,
    backoff: () => 0.5,
    onnotice: () => {},
    connection: { application_name: 'worker' },
  });
  return { db: overPostgresJs({ client }), pool: undefined, end: () => client.end({ timeout: 1 }) };
}
