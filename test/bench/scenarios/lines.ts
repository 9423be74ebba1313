/** The contenders by the names that the report and the goals call them. */
import type { ContenderSpec } from '../contenders/index.js';

export const ours = 'drizzle-queue';
export const oursOnPg = 'drizzle-queue, node-postgres';
export const graphile = 'graphile-worker';
export const boss = 'pg-boss';
export const bullmqPostgres = 'BullMQ, Postgres';
export const bullmqRedis = 'BullMQ, Redis';

/** Each with the best settings that its own documentation names for many small jobs. */
export const best = {
  [ours]: { contender: 'drizzle-queue', driver: 'postgres.js', slots: 1_000 },
  [oursOnPg]: { contender: 'drizzle-queue', driver: 'node-postgres', slots: 1_000 },
  [graphile]: { contender: 'graphile-worker' },
  [boss]: { contender: 'pg-boss' },
  [bullmqPostgres]: { contender: 'bullmq', backend: 'postgres' },
  [bullmqRedis]: { contender: 'bullmq', backend: 'redis' },
} as const satisfies Record<string, ContenderSpec>;

/** Each for a job that comes alone: no batches that would wait for more. */
export const prompt = {
  [ours]: { contender: 'drizzle-queue', driver: 'postgres.js', slots: 10 },
  [graphile]: { contender: 'graphile-worker', localQueue: 0 },
  [boss]: { contender: 'pg-boss', batchSize: 1, localConcurrency: 1, notify: true },
  [bullmqPostgres]: { contender: 'bullmq', backend: 'postgres' },
  [bullmqRedis]: { contender: 'bullmq', backend: 'redis' },
} as const satisfies Record<string, ContenderSpec>;
