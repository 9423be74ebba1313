/** This library, on either driver. */
import { setTimeout as delay } from 'node:timers/promises';
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { readMigrations } from '../../support/migrations.js';
import { createQueue, createWorker, defineJobs, type JobType, job } from '../library.js';
import { type Contender, parts } from './contender.js';

export interface DrizzleQueueOptions {
  readonly driver: 'postgres.js' | 'node-postgres';
  /** How many jobs at once, in each queue and worker. */
  readonly slots: number;
  /** Workers in the process. @default 1 */
  readonly workers?: number | undefined;
  /** Serve so many queues instead of the default one. @default 0 */
  readonly queues?: number | undefined;
  /** Of the worker's connections. @default 'on' */
  readonly synchronousCommit?: 'on' | 'off' | undefined;
  /** Whether an enqueue wakes sleeping workers. @default the library's own */
  readonly wake?: boolean | undefined;
}

const longestListenMs = 2_000;
/** The most queues of a scenario. */
const mostQueues = 50;

/** By name, so that there can be as many as a scenario wants. */
const kinds: Record<string, JobType<{ n: number }, void, string>> = {
  noop: job<{ n: number }>(),
  ...Object.fromEntries(
    Array.from({ length: mostQueues }, (_, i) => [`noop${i}`, job<{ n: number }>().queue(`queue${i}`)]),
  ),
};
const registry = defineJobs(kinds);
const queue = createQueue(registry);

export function createDrizzleQueue(url: string, options: DrizzleQueueOptions): Contender {
  const { driver, slots, workers = 1, queues = 0, synchronousCommit, wake } = options;
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const { db, end } = connect(driver, url, synchronousCommit);

  return {
    settings: {
      driver,
      slots,
      workers,
      ...(queues > 0 ? { queues } : {}),
      ...(synchronousCommit ? { synchronous_commit: synchronousCommit } : {}),
      ...(wake === undefined ? {} : { wake }),
      'everything else': 'default',
    },
    claimText: 'claimed as (',
    async prepare() {
      for (const migration of await readMigrations()) await sql.unsafe(migration);
    },
    async fill(count, { priority, delayMs, queues: spread = 0 }) {
      for (const part of parts(count, 5_000)) {
        await queue.enqueueMany(
          db,
          part.map((n) => ({
            kind: spread > 0 ? `noop${n % spread}` : 'noop',
            payload: { n },
            ...(priority === undefined ? {} : { priority }),
            ...(delayMs === undefined ? {} : { delayMs }),
          })),
        );
      }
    },
    async work(listener) {
      const served: readonly (readonly [queue: string, kind: string])[] =
        queues > 0
          ? Array.from({ length: queues }, (_, i) => [`queue${i}`, `noop${i}`])
          : [['default', 'noop']];
      const started = Array.from({ length: workers }, (_, i) => {
        const handler = ({ n }: { n: number }): void | Promise<void> => listener.job(n, i);
        return createWorker({
          db,
          registry,
          queues: Object.fromEntries(served.map(([name]) => [name, slots])),
          kinds: served.map(([, kind]) => kind),
          handlers: Object.fromEntries(served.map(([, kind]) => [kind, handler])),
          log: false,
        });
      });
      const listening = started.map(
        (worker) => new Promise<void>((resolve) => worker.on('listening', () => resolve())),
      );
      for (const worker of started) {
        worker.on('claimed', ({ jobs, durationMs }) => listener.claimed(durationMs, jobs.length));
        worker.on('error', ({ error, during }) => {
          listener.failed?.();
          console.error(during, error);
        });
        await worker.start();
      }
      // A worker that cannot listen works as well.
      await Promise.race([Promise.all(listening), delay(longestListenMs, undefined, { ref: false })]);
      return {
        stop: async () => {
          await Promise.all(started.map((worker) => worker.stop()));
        },
      };
    },
    async unfinished() {
      const [row] = await sql<{ any: boolean }[]>`
        select exists (select from jobs where state = 'running')
            or exists (select from jobs where state = 'available' and run_at <= now()) as any`;
      return row?.any ?? false;
    },
    async enqueueIn(tx, n) {
      await queue.enqueue(tx, 'noop', { n }, wake === undefined ? {} : { wake });
    },
    async enqueueManyIn(tx, numbers) {
      await queue.enqueueMany(
        tx,
        numbers.map((n) => ({ kind: 'noop', payload: { n } })),
      );
    },
    async end() {
      await Promise.all([end(), sql.end({ timeout: 5 })]);
    },
  };
}

function connect(
  driver: DrizzleQueueOptions['driver'],
  url: string,
  synchronous_commit: DrizzleQueueOptions['synchronousCommit'] = 'on',
) {
  if (driver === 'postgres.js') {
    const client = postgres(url, { connection: { synchronous_commit }, onnotice: () => {} });
    return { db: overPostgresJs({ client }), end: () => client.end({ timeout: 5 }) };
  }
  const client = new pg.Pool({
    connectionString: url,
    options: `-c synchronous_commit=${synchronous_commit}`,
  });
  return { db: overPg({ client }), end: () => client.end() };
}
