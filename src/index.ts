/** `drizzle-queue`: what an app needs to define and enqueue jobs. The worker is `drizzle-queue/worker`. */
export { type CheckSchemaOptions, checkSchema } from './check/check-schema.js';
export type { QueueRole } from './check/needs.js';
export type { SchemaProblem, SchemaProblemCode } from './check/problem.js';
export type { Database, Executor, Transaction } from './database/executor.js';
export type { QueueTables } from './database/tables.js';
export type { EnqueueArgs, QueueNames, UpdateArgs } from './queue/enqueue-args.js';
export type { EnqueueOptions } from './queue/enqueue-options.js';
export type { Enqueued } from './queue/enqueued.js';
export type { AnyRow, RowOfKind } from './queue/is-kind.js';
export type {
  MoveAnswer,
  Moves,
  ReplayAnswer,
  ReplayFilter,
  ReplayOptions,
  RescheduleTime,
} from './queue/moves.js';
export type { Pausable, PauseAnswer, Paused, Pauses } from './queue/pauses.js';
export type { EmptyItem, EnqueueItem, Queue, QueueOptions } from './queue/queue.js';
export { createQueue } from './queue/queue.js';
export type { ReadableRow, ReadRow } from './queue/read-row.js';
export type {
  CountFilter,
  DeadLetterFilter,
  EndConditions,
  JobConditions,
  JobOf,
  JobPage,
  KeptKind,
  ListFilter,
  Reading,
  WaitOptions,
} from './queue/reading.js';
export type {
  TransactionConfigOf,
  TransactionOf,
  Transactions,
  TransactionsOptions,
} from './queue/transactions.js';
export { createTransactions } from './queue/transactions.js';
export type { Ended, Handler, Handlers, JobContext, Settled } from './registry/handlers.js';
export type { JobOptions, JobType, OnComplete, OnDuplicate } from './registry/job.js';
export { job } from './registry/job.js';
export type { JsonObject, JsonValue } from './registry/json.js';
export type { AnyRegistry, JobTypes, PayloadOf, Registry, ResultOf } from './registry/registry.js';
export { defineJobs } from './registry/registry.js';
export type { Upgrade } from './registry/upgrades.js';
export type { DeadLetterGroup } from './words/dead-letters.js';
export { QueueError, type QueueErrorCode } from './words/errors.js';
export type { JobCounts } from './words/job-counts.js';
export type { JobError, StoredPayload, StoredResult } from './words/row-types.js';
export type { FinalState, State } from './words/states.js';
export type { StoredJob } from './words/stored-job.js';
