/** `drain`: runs due jobs inside a transaction, which the test rolls back. */
import { randomBytes } from 'node:crypto';
import { type AnyQueueTables, checkTables, publicTables } from '../database/any-tables.js';
import { assertTransaction, type Transaction } from '../database/executor.js';
import { tableName, tablePlace } from '../database/table-name.js';
import type { Handlers } from '../registry/handlers.js';
import {
  type AnyRegistry,
  assertRegistry,
  type JobTypes,
  kindOf,
  type Registry,
} from '../registry/registry.js';
import { claim } from '../sql/claim.js';
import type { Served } from '../sql/claim-next.js';
import { findPauses } from '../sql/find-pauses.js';
import { mayRead } from '../sql/may-read.js';
import { endSavepoint, setSavepoint } from '../sql/savepoint.js';
import { makeDue } from '../sql/test-time.js';
import { checkFunction, checkKeys, trueOrFalse, wholeNumber } from '../words/checks.js';
import { invalidOption, QueueError, show } from '../words/errors.js';
import { checkHandlers } from '../worker/check-options.js';
import { isDiscard } from '../worker/discard.js';
import { whatIsPaused } from '../worker/what-is-paused.js';
import { type DrainedRun, runInside } from './run-inside.js';

/** What {@link drain} takes besides the transaction. */
export interface DrainOptions<Kinds extends JobTypes> {
  readonly registry: Registry<Kinds>;
  /** Of the kinds to run; jobs of other kinds are left. Give them the transaction where in the app they have the database. */
  readonly handlers: Partial<Handlers<Registry<NoInfer<Kinds>>>>;
  /** What `queueTables({ schema })` gave: `queue.tables`. @default the tables of `drizzle-queue/schema` */
  readonly tables?: AnyQueueTables | undefined;
  /**
   * Rejects with the first error that a handler throws, once that is written down. A job that is discarded on purpose is
   * no error.
   * @default false
   */
  readonly throwErrors?: boolean | undefined;
  /**
   * Rejects with `DRAIN_LIMIT` before one run more than this, from 1 to 1000000: a handler may enqueue without end.
   * @default 1_000
   */
  readonly limit?: number | undefined;
}

/**
 * Runs the due jobs of these kinds one after another, also those that they enqueue, until none is due; and says how each
 * run ended. All of it is in the transaction: claims, handlers and ends are undone when it is rolled back.
 *
 * As in production, a failed attempt is written down and tried again after its pause, so not by this call (let time
 * pass with `advance`); attempts that are used up discard the job. What a handler wrote stands when it throws, as it would
 * outside of a transaction. Only where a statement of its own failed, all that it wrote is undone: Postgres takes nothing
 * more in a transaction then. A handler that caught such an error and resolved has failed (`JOB_ROLLED_BACK`; its `snooze` or
 * `discard` stands): a statement that may fail has to be in a `tx.transaction(…)` of its own.
 *
 * Jobs of what is paused are left, as they are by workers.
 *
 * Due jobs that were there before run as well: roll them back, or use a database without.
 *
 * @throws QueueError `TRANSACTION_REQUIRED`, `INVALID_EXECUTOR`, `INVALID_OPTION`, `UNKNOWN_KIND`, `DRAIN_LIMIT`, `WORKER_BUSY`
 * where another one is at work on the same transaction, `TRANSACTION_ENDED` where that is over (it was not awaited in it)
 */
export async function drain<Kinds extends JobTypes>(
  tx: Transaction,
  options: DrainOptions<Kinds>,
): Promise<DrainedRun<keyof Kinds & string>[]>;
export async function drain(
  tx: Transaction,
  options: DrainOptions<AnyRegistry['kinds']>,
): Promise<DrainedRun<string>[]> {
  assertTransaction(tx, 'drain(tx, …) runs jobs in a transaction that the test rolls back.');
  checkKeys('drain(…)', options, ['registry', 'handlers', 'tables', 'throwErrors', 'limit']);
  const { registry, handlers, tables = publicTables } = options;
  assertRegistry(registry);
  const { jobs, jobLimits } = checkTables(tables);
  const table = tableName(jobs);
  const throwErrors = trueOrFalse('throwErrors', options.throwErrors ?? false);
  const limit = wholeNumber('limit', options.limit ?? 1_000, 1, 1_000_000);
  const kinds = checkHandlers(registry, kindsOf(registry, handlers), handlers);
  const name = `drain-${randomBytes(5).toString('hex')}`;
  const runs: DrainedRun<string>[] = [];
  let claims = 0;

  /** Claims and runs one of this queue; false where there is none. */
  async function runNext(queue: string, served: Served): Promise<boolean> {
    const lockedBy = `${name}/${++claims}`;
    const request = { want: new Map([[queue, 1]]), ...served, lockedBy };
    const [job] = (await claim(tx, table, request)).jobs;
    const kind = job && kinds.get(job.kind);
    if (!kind) return false;
    if (runs.length === limit) throw limitReached(limit);
    const run = await runInside(tx, table, job, kind);
    runs.push(run);
    if (throwErrors && isError(run)) throw run.error;
    return true;
  }

  // Their savepoints would be inside of each other.
  if (drained.has(tx))
    throw new QueueError('WORKER_BUSY', 'Another drain(…) is at work on this transaction: await it.');
  drained.add(tx);
  try {
    // Of a transaction that has ended no statement knows, and what was claimed by one would stay so.
    await setSavepoint(tx);
    await endSavepoint(tx);
    const limits = jobLimits && (await mayRead(tx, tablePlace(jobLimits))) ? tableName(jobLimits) : undefined;
    for (let more = true; more; ) {
      more = false;
      // Each time anew: a handler may pause what it is part of.
      const { queues, served } = whatIsPaused(kinds, limits ? (await findPauses(tx, limits)).pauses : []);
      for (const queue of await makeDue(tx, table, served.kinds)) {
        if (!queues.has(queue) && (await runNext(queue, served))) more = true;
      }
    }
    return runs;
  } finally {
    drained.delete(tx);
  }
}

/** Transactions that a drain is at work on. */
const drained = new WeakSet<Transaction>();

function kindsOf(registry: AnyRegistry, handlers: unknown): string[] {
  if (typeof handlers !== 'object' || handlers === null || Array.isArray(handlers)) {
    throw invalidOption('handlers', 'an object of handlers by kind', handlers);
  }
  for (const [kind, handler] of Object.entries(handlers)) {
    kindOf(registry, kind);
    checkFunction(`handlers[${show(kind)}]`, handler);
  }
  return Object.keys(handlers);
}

function isError(run: DrainedRun<string>): run is DrainedRun<string> & { readonly error: unknown } {
  return run.outcome === 'failed' || (run.outcome === 'discarded' && !isDiscard(run.error));
}

function limitReached(limit: number): QueueError {
  return new QueueError(
    'DRAIN_LIMIT',
    `drain(…) has run ${limit} jobs and more are due. Does a handler enqueue without end, or snooze for no time? Else raise \`limit\`.`,
    { data: { limit } },
  );
}
