/** `drizzle-queue/testing`: what tests of an app need to see and run its jobs, in a transaction that is rolled back. */
export { advance } from './testing/advance.js';
export { type DrainOptions, drain } from './testing/drain.js';
export {
  assertEnqueued,
  type EnqueuedJob,
  enqueued,
  type PartOf,
  type PayloadMatch,
  type TestedQueue,
} from './testing/enqueued.js';
export { type PerformArgs, type Performed, type PerformOptions, perform } from './testing/perform.js';
export { rolledBack } from './testing/rolled-back.js';
export type { DrainedRun } from './testing/run-inside.js';
