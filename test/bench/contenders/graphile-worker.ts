/** graphile-worker, with what its page on performance names: a local queue and batched completion. */
import { EventEmitter } from 'node:events';
import { sql } from 'drizzle-orm';
import { Logger, makeWorkerUtils, run, type WorkerEvents } from 'graphile-worker';
import pg from 'pg';
import { type Contender, parts, type Working, type WorkListener } from './contender.js';

export interface GraphileWorkerOptions {
  /** Jobs at once. @default 24, as in its own benchmark */
  readonly concurrentJobs?: number | undefined;
  /** Jobs claimed at once into its local queue, with completion in batches; 0 is its default, without both. @default 500 */
  readonly localQueue?: number | undefined;
  /** Runners in the process. @default 1 */
  readonly workers?: number | undefined;
}

const logger = new Logger(() => () => {});

export function createGraphileWorker(url: string, options: GraphileWorkerOptions): Contender {
  const { concurrentJobs = 24, localQueue = 500, workers = 1 } = options;
  const maxPoolSize = concurrentJobs + 1;
  const utils = makeWorkerUtils({ connectionString: url, logger });
  // Nobody minds a promise that is not awaited yet.
  utils.catch(() => {});
  const pool = new pg.Pool({ connectionString: url, max: 1 });

  async function work(listener: WorkListener, worker: number): Promise<Working> {
    const events: WorkerEvents = new EventEmitter();
    let lookedAt = performance.now();
    events.on('localQueue:setMode', ({ newMode }) => {
      if (newMode === 'POLLING') lookedAt = performance.now();
    });
    events.on('localQueue:getJobs:complete', ({ jobs }) => {
      if (jobs.length > 0) listener.claimed(performance.now() - lookedAt, jobs.length);
      lookedAt = performance.now(); // a full fetch whose jobs are all taken is followed by the next at once
    });
    // With a local queue a worker takes a job from there.
    if (localQueue === 0) events.on('job:start', () => listener.claimed(undefined, 1));
    const listening = new Promise<void>((resolve) => events.on('pool:listen:success', () => resolve()));
    const runner = await run({
      connectionString: url,
      noHandleSignals: true,
      logger,
      events,
      preset: {
        worker: {
          concurrentJobs,
          maxPoolSize,
          ...(localQueue > 0
            ? { localQueue: { size: localQueue }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
            : {}),
        },
      },
      taskList: { noop: (payload) => listener.job(numberIn(payload), worker) },
    });
    await listening;
    return { stop: () => runner.stop() };
  }

  return {
    settings: {
      concurrentJobs,
      ...(workers > 1 ? { workers } : {}),
      maxPoolSize,
      'localQueue.size': localQueue,
      completeJobBatchDelay: localQueue > 0 ? 0 : -1,
      'everything else': 'default',
    },
    claimText: 'attempts = jobs.attempts + 1',
    async prepare() {
      await (await utils).migrate();
    },
    async fill(jobs, { priority = 0, delayMs = 0 }) {
      const { addJobs } = await utils;
      for (const part of parts(jobs, 5_000)) {
        const runAt = delayMs > 0 ? { runAt: new Date(Date.now() + delayMs) } : {};
        // Its lower numbers are the more urgent ones.
        await addJobs(
          part.map((n) => ({ identifier: 'noop', payload: { n }, priority: -priority, ...runAt })),
        );
      }
    },
    async work(listener) {
      const working = await Promise.all(Array.from({ length: workers }, (_, i) => work(listener, i)));
      return {
        stop: async () => {
          await Promise.all(working.map((one) => one.stop()));
        },
      };
    },
    async unfinished() {
      const { rows } = await pool.query<{ any: boolean }>(
        `select exists (select from graphile_worker.jobs where run_at <= now()) as any`,
      );
      return rows[0]?.any ?? false;
    },
    async enqueueIn(tx, n) {
      await tx.execute(sql`select graphile_worker.add_job('noop', ${JSON.stringify({ n })}::text::json)`);
    },
    async enqueueManyIn(tx, numbers) {
      // The statement that its addJobs sends, for the columns that are given.
      const specs = JSON.stringify(numbers.map((n) => ({ identifier: 'noop', payload: { n } })));
      await tx.execute(sql`
        select count(*) from graphile_worker.add_jobs(
          array(select json_populate_recordset(null::graphile_worker.job_spec, ${specs}::text::json)))`);
    },
    async end() {
      await Promise.all([utils.then(({ release }) => release()), pool.end()]);
    },
  };
}

function numberIn(payload: unknown): number {
  return typeof payload === 'object' && payload !== null && 'n' in payload ? Number(payload.n) : -1;
}
