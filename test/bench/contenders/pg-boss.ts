/** pg-boss, with batches fetched and completed as one and without a pause while they are full. */
import { sql } from 'drizzle-orm';
import pg from 'pg';
import { fromDrizzle, PgBoss } from 'pg-boss';
import { type Contender, parts } from './contender.js';

export interface PgBossOptions {
  /** Jobs fetched at once and handed to one call of the handler. @default 500 */
  readonly batchSize?: number | undefined;
  /** Loops that fetch, in each instance. @default 2 */
  readonly localConcurrency?: number | undefined;
  /** Instances in the process that work. @default 1 */
  readonly workers?: number | undefined;
  /** Wake workers by NOTIFY. @default false */
  readonly notify?: boolean | undefined;
}

export function createPgBoss(url: string, options: PgBossOptions): Contender {
  const { batchSize = 500, localConcurrency = 2, workers = 1, notify = false } = options;
  const create = (): PgBoss => {
    const made = new PgBoss({ connectionString: url, useListenNotify: notify });
    made.on('error', (error) => console.error(error));
    return made;
  };
  /** The first one also enqueues. */
  const boss = create();
  const others: PgBoss[] = [];
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  let started: Promise<unknown> | undefined;
  const start = () => (started ??= boss.start());

  return {
    settings: {
      batchSize,
      localConcurrency,
      ...(workers > 1 ? { workers } : {}),
      burstWhenBatchFull: batchSize > 1,
      pollingIntervalSeconds: 0.5,
      useListenNotify: notify,
      'everything else': 'default',
    },
    claimText: 'retry_count = CASE WHEN started_on IS NOT NULL',
    async prepare() {
      await start();
      await boss.createQueue('noop', { notify });
    },
    async fill(jobs, { priority = 0, delayMs = 0 }) {
      await start();
      for (const part of parts(jobs, 5_000)) {
        const startAfter = delayMs > 0 ? { startAfter: new Date(Date.now() + delayMs) } : {};
        await boss.insert(
          'noop',
          part.map((n) => ({ data: { n }, priority, ...startAfter })),
        );
      }
    },
    async work(listener) {
      await start();
      while (others.length < workers - 1) {
        const another = create();
        others.push(another);
        await another.start();
      }
      for (const [i, one] of [boss, ...others].entries()) {
        await one.work<{ n: number }>(
          'noop',
          { batchSize, localConcurrency, burstWhenBatchFull: batchSize > 1, pollingIntervalSeconds: 0.5 },
          async (batch) => {
            listener.claimed(undefined, batch.length);
            const ends = batch.map(({ data }) => listener.job(data.n, i)).filter((end) => end !== undefined);
            if (ends.length > 0) await Promise.all(ends);
          },
        );
      }
      return {
        stop: async () => {
          await Promise.all([boss, ...others].map((one) => one.offWork('noop')));
        },
      };
    },
    async unfinished() {
      const { rows } = await pool.query<{ any: boolean }>(
        `select exists (select from pgboss.job where name = 'noop' and state < 'completed' and start_after <= now()) as any`,
      );
      return rows[0]?.any ?? false;
    },
    async claimOnce(jobs) {
      await start();
      const began = performance.now();
      const batch = await boss.fetch('noop', { batchSize: jobs });
      const tookMs = performance.now() - began;
      await boss.complete(
        'noop',
        batch.map(({ id }) => id),
      );
      return tookMs;
    },
    async enqueueIn(tx, n) {
      await start();
      await boss.send('noop', { n }, { db: fromDrizzle(tx, sql) });
    },
    async enqueueManyIn(tx, numbers) {
      await start();
      await boss.insert(
        'noop',
        numbers.map((n) => ({ data: { n } })),
        { db: fromDrizzle(tx, sql) },
      );
    },
    async end() {
      await Promise.all([...(started ? [boss] : []), ...others].map((one) => one.stop({ graceful: false })));
      await pool.end();
    },
  };
}
