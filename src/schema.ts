/**
 * `drizzle-queue/schema`: the tables, for the app's own Drizzle schema (`export * from 'drizzle-queue/schema'`).
 *
 * Each table is exported exactly once and there is no default export: drizzle-kit 1.0 refuses the same table twice.
 */

export type { JobLimitsTable, JobsTable, JobThrottleTable, QueueTables } from './database/tables.js';
export { jobLimits, jobs, jobThrottle, queueTables } from './database/tables.js';
export type { JobError } from './words/row-types.js';
export type { State } from './words/states.js';
