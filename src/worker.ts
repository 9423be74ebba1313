/** `drizzle-queue/worker`: what a process that runs jobs needs. */
export type { SchemaProblem, SchemaProblemCode } from './check/problem.js';
export type { Handler, Handlers, JobContext } from './registry/handlers.js';
export { Discard } from './worker/discard.js';
export type { Activity, JobInfo, Listener, PausedPart, WorkerEvents } from './worker/events.js';
export type { Log } from './worker/log.js';
export type { WorkerOptions } from './worker/options.js';
export type { RunOnceOptions, RunOnceResult } from './worker/run-once.js';
export { createWorker, type Worker } from './worker/worker.js';
