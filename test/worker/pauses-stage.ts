/** What the tests of pauses have in common: kinds on two queues, one with an alias, and workers that hear or only look. */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterEach } from 'vitest';
import type { Database } from '../../src/database/executor.js';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { createWorker, type WorkerOptions } from '../../src/worker.js';
import type { UsedDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

export const registry = defineJobs({
  task: job<{ n: number }>({ retry: () => 50 }),
  mail: job<{ n: number }>().alias('letter'),
  other: job<{ n: number }>().queue('other'),
});
export const queue = createQueue(registry);
type Kinds = (typeof registry)['kinds'];
type Queues = 'default' | 'other';

/** One run: when its handler was called, by the clock of this process. */
export interface Ran {
  readonly kind: string;
  readonly n: number;
  readonly at: number;
}

/** Nothing can have been found by a look in time. */
export const asleepMs = 60_000;

export function usePauses(database: UsedDatabase) {
  const { watch } = useWorkers(database);
  const clients: postgres.Sql[] = [];
  afterEach(async () => {
    await database.sql`truncate job_limits`;
    await Promise.all(clients.splice(0).map((client) => client.end({ timeout: 5 })));
  });

  /** A database with a client of its own, and all that is sent through Drizzle. */
  function logged(): { readonly db: Database; readonly sent: string[] } {
    const client = postgres(database.url, { max: 3, onnotice: () => {} });
    clients.push(client);
    const sent: string[] = [];
    return { db: drizzle({ client, logger: { logQuery: (text) => void sent.push(text) } }), sent };
  }

  /** The same without a way to a connection of one's own: it cannot listen. */
  function deaf(): { readonly db: Database; readonly sent: string[] } {
    const { db, sent } = logged();
    return {
      db: { execute: (query) => db.execute(query), transaction: (...args) => db.transaction(...args) },
      sent,
    };
  }

  async function start(
    options: Partial<WorkerOptions<Kinds, Queues, keyof Kinds>> & {
      handle?: (ran: Ran, attempt: number) => unknown;
    } = {},
  ) {
    const { handle = () => {}, ...rest } = options;
    const ran: Ran[] = [];
    const handler =
      (kind: string) =>
      async ({ n }: { n: number }, { attempt }: { attempt: number }): Promise<void> => {
        const run = { kind, n, at: performance.now() };
        ran.push(run);
        await handle(run, attempt);
      };
    const worker = createWorker({
      db: database.db,
      registry,
      queues: { default: 5, other: 5 },
      handlers: { task: handler('task'), mail: handler('mail'), other: handler('other') },
      pollIntervalMs: asleepMs,
      log: false,
      ...rest,
    });
    const seen = watch(worker);
    await worker.start();
    return { worker, seen, ran };
  }

  /** One that listens, and knows that it is told of all. */
  async function listening(options: Parameters<typeof start>[0] = {}) {
    const started = await start(options);
    await until(() => started.seen.listening.length, { what: 'the worker to listen' });
    return started;
  }

  const waiting = async (): Promise<number> => {
    const [found] = await database.sql<
      { n: number }[]
    >`select count(*)::int as n from jobs where state = 'available'`;
    return found?.n ?? 0;
  };

  return { logged, deaf, start, listening, waiting };
}

/** A claim that was under way, and what else the machine does. */
export const toldMs = 300;
/** The same where nobody tells. */
export const lookedMs = 2_500;

export const task = (n: number) => ({ kind: 'task', payload: { n } }) as const;
export const tasks = (count: number) => Array.from({ length: count }, (_, n) => task(n));

/** When the last of them began. */
export const last = (ran: readonly Ran[]) => Math.max(...ran.map(({ at }) => at));

/** A span of time in which something is counted. */
export async function passes(ms: number): Promise<void> {
  const end = performance.now() + ms;
  await until(() => performance.now() > end, { what: 'time to pass', timeoutMs: ms + 5_000 });
}

/** How many of the statements are claims. */
export function claims(sent: readonly string[]): number {
  return sent.filter((text) => text.includes("state        = 'running'")).length;
}
