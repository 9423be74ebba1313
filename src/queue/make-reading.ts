/** Makes what reads jobs: checks, a statement, and what the compiler knows of its answer. */
import { assertExecutor, type Executor, isTransaction } from '../database/executor.js';
import { tableName } from '../database/table-name.js';
import type { JobsTable } from '../database/tables.js';
import { namesOf } from '../registry/aliases.js';
import { type AnyRegistry, kindOf } from '../registry/registry.js';
import { countJobs } from '../sql/count-jobs.js';
import { findEnd } from '../sql/find-end.js';
import { findJob } from '../sql/find-job.js';
import { findJobs } from '../sql/find-jobs.js';
import { groupDiscarded } from '../sql/group-discarded.js';
import type { ReadJob } from '../sql/job-json.js';
import { QueueError, show } from '../words/errors.js';
import { checkId } from './check-moves.js';
import { checkCounts, checkDeadLetters, checkList, checkWait } from './check-reading.js';
import { readRow } from './read-row.js';
import type { Reading } from './reading.js';
import { waitForResult } from './wait.js';

/** The object's part that reads; its types are those of `Reading`. */
export function createReading(registry: AnyRegistry, jobs: JobsTable) {
  const table = tableName(jobs);
  const names = (kind: string) => namesOf(registry.kinds, kind);
  return {
    async get(db: Executor, id: unknown) {
      assertExecutor(db);
      const job = await findJob(db, table, checkId(id));
      return job && asOfToday(registry, job);
    },

    async list(db: Executor, filter?: unknown) {
      assertExecutor(db);
      const { jobs, more } = await findJobs(db, table, checkList(filter, names));
      return { jobs: jobs.map((job) => asOfToday(registry, job)), next: more ? jobs.at(-1)?.id : undefined };
    },

    async counts(db: Executor, filter?: unknown) {
      assertExecutor(db);
      return countJobs(db, table, checkCounts(filter, names));
    },

    async deadLetters(db: Executor, filter?: unknown) {
      assertExecutor(db);
      const { limit, ...checked } = checkDeadLetters(filter, names);
      return groupDiscarded(db, table, checked.filter, limit);
    },

    async wait(db: Executor, kind: string, given: unknown, options?: unknown) {
      assertExecutor(db);
      if (isTransaction(db)) throw inTransaction();
      if (kindOf(registry, kind).$onComplete !== 'keep') throw notKept(kind);
      const id = checkId(given);
      const timeoutMs = checkWait(options);
      const look = () => findEnd(db, table, id);
      return waitForResult({ kind, names: names(kind), id, timeoutMs, look });
    },
  } satisfies { readonly [Name in keyof Reading<AnyRegistry>]: unknown };
}

/** With aliases and upgrades applied, where that can be: one row that cannot be read so may not hide the others of a page. */
function asOfToday(registry: AnyRegistry, job: ReadJob): ReadJob {
  try {
    return readRow(registry, job);
  } catch (error) {
    if (error instanceof QueueError) return job; // of a kind that is none, or whose payload cannot be upgraded
    throw error;
  }
}

function inTransaction(): QueueError {
  return new QueueError(
    'INVALID_EXECUTOR',
    'Expected `db`, got a transaction: it stays open while it waits, and a job that was enqueued in it never starts. ' +
      'Wait after it has committed.',
  );
}

function notKept(kind: string): QueueError {
  return new QueueError(
    'KIND_NOT_KEPT',
    `The jobs of ${show(kind)} are deleted when they complete, so nobody can wait for their results. Define the kind ` +
      "with job(…).onComplete('keep').",
    { data: { kind } },
  );
}
