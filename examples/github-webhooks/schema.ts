/**
 * The app's Drizzle schema: its own tables, and the queue's beside them. drizzle-kit generates `drizzle/` from this file.
 */
import { sql } from 'drizzle-orm';
import { bigint, index, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

export * from 'drizzle-queue/schema';

/** The parts of a payload that the app looks at. */
export interface GitHubPayload {
  readonly action?: string;
  readonly repository?: { readonly full_name: string };
}

/** What GitHub sent, one row a delivery. */
export const events = pgTable('events', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  /** GitHub's own id of the delivery; the same one when GitHub sends it again. */
  deliveryId: text('delivery_id').notNull().unique(),
  name: text('name').notNull(),
  repository: text('repository'),
  payload: jsonb('payload').$type<GitHubPayload>().notNull(),
  receivedAt: timestamp('received_at', { withTimezone: true }).notNull().defaultNow(),
  /** Set by the `index` job. */
  indexedAt: timestamp('indexed_at', { withTimezone: true }),
});

/** Which jobs an event has. No foreign key to `jobs`: a completed job's row is deleted. */
export const eventJobs = pgTable(
  'event_jobs',
  {
    jobId: bigint('job_id', { mode: 'number' }).primaryKey(),
    eventId: bigint('event_id', { mode: 'number' })
      .notNull()
      .references(() => events.id),
    kind: text('kind').notNull(),
  },
  (row) => [index('event_jobs_event').on(row.eventId)],
);

/** How many events each repository had: what the `index` job counts, exactly once an event. */
export const activity = pgTable('activity', {
  repository: text('repository').primaryKey(),
  events: integer('events').notNull().default(0),
});

/** How claims of jobs ended, as the workers tell it. */
export const claimEnds = pgTable('claim_ends', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  jobId: bigint('job_id', { mode: 'number' }).notNull(),
  kind: text('kind').notNull(),
  /** The claim: a job that is claimed again has another one. */
  lockedBy: text('locked_by').notNull(),
  how: text('how', {
    enum: ['completed', 'failed', 'discarded', 'rescued', 'snoozed', 'released'],
  }).notNull(),
  reason: text('reason'),
  at: timestamp('at', { withTimezone: true }).notNull().default(sql`clock_timestamp()`),
});
