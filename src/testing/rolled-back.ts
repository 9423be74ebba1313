/** `rolledBack`: a transaction of which nothing is left but its answer. */
import { assertExecutor, type Executor } from '../database/executor.js';
import { rolledBack as leavingNothing } from '../queue/rolled-back.js';
import { checkFunction } from '../words/checks.js';

/**
 * Does something in a transaction, rolls that back, and gives its answer: what it wrote is gone, also when it threw. Inside
 * another transaction it is a savepoint.
 *
 * @throws QueueError `INVALID_EXECUTOR`, `INVALID_OPTION`; what `work` throws as it is
 */
export async function rolledBack<Db extends Executor, Answer>(
  db: Db,
  work: (tx: Parameters<Parameters<Db['transaction']>[0]>[0]) => Promise<Answer>,
): Promise<Answer> {
  assertExecutor(db);
  checkFunction('work', work);
  return leavingNothing(db, work);
}
