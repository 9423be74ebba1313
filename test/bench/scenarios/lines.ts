/** The contenders by the names that the report and the goals call them. */
import type { ContenderSpec } from '../contenders/index.js';

export const ours = 'drizzle-queue';
export const oursOnPg = 'drizzle-queue, node-postgres';
export const graphile = 'graphile-worker';
export const graphileQueue = 'graphile-worker, local queue';
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

/**
 * Each for a job that comes alone: nothing that would wait for more. pg-boss takes what is there, up to ten: a loop of it
 * that takes one job leaves the second of two that come together until its next poll, half a minute later.
 */
export const prompt = {
  [ours]: { contender: 'drizzle-queue', driver: 'postgres.js', slots: 10 },
  [graphile]: { contender: 'graphile-worker', localQueue: 0 },
  [boss]: { contender: 'pg-boss', batchSize: 10, localConcurrency: 1, notify: true },
  [bullmqPostgres]: { contender: 'bullmq', backend: 'postgres' },
  [bullmqRedis]: { contender: 'bullmq', backend: 'redis' },
} as const satisfies Record<string, ContenderSpec>;

/** Many workers that wait for jobs: this many in each of so many processes, of ten jobs at once each. */
export const crowdProcesses = 4;
const inEach = 5;
export const crowdWorkers = crowdProcesses * inEach;
export const crowdSlots = 10;

/**
 * A worker is what an app has one of in a process, with all that this brings (a connection that listens, polls, and what
 * goes on beside the jobs): `createWorker`, graphile-worker's `run`, an instance of pg-boss. They share processes, because
 * twenty of these would need more of the machine than the workers do.
 *
 * graphile-worker claims one job at a time for each of its ten, or, with a local queue, ten for all; pg-boss gives ten to
 * one call of the handler.
 */
export const crowd = {
  [ours]: { contender: 'drizzle-queue', driver: 'postgres.js', slots: crowdSlots, workers: inEach },
  [graphile]: {
    contender: 'graphile-worker',
    localQueue: 0,
    concurrentJobs: crowdSlots,
    workers: inEach,
  },
  [graphileQueue]: {
    contender: 'graphile-worker',
    localQueue: crowdSlots,
    concurrentJobs: crowdSlots,
    workers: inEach,
  },
  [boss]: {
    contender: 'pg-boss',
    batchSize: crowdSlots,
    localConcurrency: 1,
    notify: true,
    workers: inEach,
  },
} as const satisfies Record<string, ContenderSpec>;
