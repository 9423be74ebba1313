/** BullMQ, on its Postgres backend or on Redis. */
import { createPostgresBackend, type Job, Queue, Worker, withBackend } from 'bullmq';
import { Redis } from 'ioredis';
import { type Contender, parts, type Settings } from './contender.js';

export interface BullmqOptions {
  readonly backend: 'postgres' | 'redis';
  /** Jobs at once. @default 32, the best of its own measurements */
  readonly concurrency?: number | undefined;
}

interface Parts {
  readonly queue: {
    addBulk(jobs: { name: string; data: { n: number } }[]): Promise<unknown>;
    add(name: string, data: { n: number }): Promise<unknown>;
    getJobCounts(...states: ('waiting' | 'active')[]): Promise<{ [state: string]: number }>;
    close(): Promise<void>;
  };
  worker(handle: (job: Job<{ n: number }>) => Promise<void>): {
    waitUntilReady(): Promise<unknown>;
    close(): Promise<void>;
    on(event: 'error', listener: (error: Error) => void): unknown;
  };
}

const defaultJobOptions = { removeOnComplete: true };

export function createBullmq(url: string, { backend, concurrency = 32 }: BullmqOptions): Contender {
  const settings: Settings = {
    backend,
    concurrency,
    removeOnComplete: true,
    ...(backend === 'redis' ? { 'redis appendonly': true, 'redis appendfsync': 'everysec' } : {}),
  };
  let made: Parts | undefined;
  const use = (): Parts =>
    (made ??= backend === 'redis' ? onRedis(url, concurrency) : onPostgres(url, concurrency));

  return {
    settings,
    async prepare() {
      if (backend === 'redis') {
        const redis = new Redis(url);
        await redis.flushall();
        redis.disconnect();
      } else await use().queue.getJobCounts('waiting'); // makes its tables when it connects
    },
    async fill(jobs) {
      for (const part of parts(jobs, 1_000)) {
        await use().queue.addBulk(part.map((n) => ({ name: 'noop', data: { n } })));
      }
    },
    async work(listener) {
      const worker = use().worker(async (job) => listener.job(job.data.n));
      worker.on('error', (error) => console.error(error));
      await worker.waitUntilReady();
      return { stop: () => worker.close() };
    },
    async unfinished() {
      const { waiting = 0, active = 0 } = await use().queue.getJobCounts('waiting', 'active');
      return waiting + active > 0;
    },
    async enqueue(n) {
      await use().queue.add('noop', { n });
    },
    async end() {
      await made?.queue.close();
    },
  };
}

function onPostgres(url: string, concurrency: number): Parts {
  const classes = withBackend(createPostgresBackend);
  const connection = { connectionString: url, migrate: true };
  return {
    queue: new classes.Queue<{ n: number }>('noop', { connection, defaultJobOptions }),
    worker: (handle) => new classes.Worker<{ n: number }, void>('noop', handle, { connection, concurrency }),
  };
}

function onRedis(url: string, concurrency: number): Parts {
  const { hostname: host, port } = new URL(url);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  return {
    queue: new Queue<{ n: number }>('noop', { connection, defaultJobOptions }),
    worker: (handle) => new Worker<{ n: number }, void>('noop', handle, { connection, concurrency }),
  };
}
