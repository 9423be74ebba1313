/** The errors of a feature whose table is not there. */
import { errorBrief } from '../words/error-text.js';
import { QueueError } from '../words/errors.js';

/** A table that is for one feature. */
export interface FeatureTable {
  readonly name: string;
  /** What it is called where the app exports it. */
  readonly exported: string;
  readonly feature: string;
}

/** The app has not given it to the queue. */
export function tableNotGiven({ name, exported, feature }: FeatureTable): QueueError {
  return new QueueError(
    'TABLE_MISMATCH',
    `${feature} needs the table \`${name}\`, which the \`tables\` of createQueue(…) lack. Export \`${exported}\` of ` +
      `queueTables(…) from the app's schema file, make a migration of it, and give both: \`{ tables: { jobs, ${exported} } }\`.`,
    { data: { table: name } },
  );
}

/** The database has none, or another one. */
export function tableNotThere({ name, feature }: FeatureTable, cause: unknown): QueueError {
  return new QueueError(
    'TABLE_MISMATCH',
    `${feature} needs the table \`${name}\`: ${errorBrief(cause)}. Export it from the app's schema file ` +
      "(`export * from 'drizzle-queue/schema'`), then run: npx drizzle-kit generate && npx drizzle-kit migrate.",
    { data: { table: name }, cause },
  );
}
