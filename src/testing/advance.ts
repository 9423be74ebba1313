/** `advance`: lets time pass for the jobs of a test. */
import { type AnyQueueTables, checkTables } from '../database/any-tables.js';
import { assertExecutor, type Executor } from '../database/executor.js';
import { tableName, tablePlace } from '../database/table-name.js';
import { isThere } from '../sql/is-there.js';
import { moveIntoPast, moveThrottlesIntoPast } from '../sql/test-time.js';
import { longestDelayMs } from '../words/backoff.js';
import { wholeNumber } from '../words/checks.js';

/**
 * Lets so many ms pass for all jobs: it moves their rows that far into the past (when they run, were enqueued, started,
 * gave a sign of life and ended), since the clock of a transaction stands still. A retry that is due in a minute is due
 * after `advance(tx, queue, 60_000)`, and so is what `onDuplicate: 'throttle'` kept back for a minute. Tables of the app are left as
 * they are.
 *
 * @param ms a whole number from 0 to a hundred years
 * @returns how many jobs there are
 * @throws QueueError `INVALID_OPTION`, `INVALID_EXECUTOR`
 */
export async function advance(
  tx: Executor,
  queue: { readonly tables: AnyQueueTables },
  ms: number,
): Promise<number> {
  assertExecutor(tx);
  const { jobs, jobThrottle } = checkTables(queue?.tables);
  wholeNumber('ms', ms, 0, longestDelayMs);
  const moved = await moveIntoPast(tx, tableName(jobs), ms);
  // Of the tables that a queue has when it is given none, an app may have made the jobs alone.
  if (jobThrottle && (await isThere(tx, tablePlace(jobThrottle)))) {
    await moveThrottlesIntoPast(tx, tableName(jobThrottle), ms);
  }
  return moved;
}
