/** Ends of runs as a worker writes them: those that are complete in one statement, the others in another. */
import type { Executor } from '../../src/database/executor.js';
import type { TableName } from '../../src/database/table-name.js';
import { completeMany } from '../../src/sql/complete-many.js';
import * as keeping from '../../src/sql/finish.js';
import type { Finished } from '../../src/sql/finished.js';
import type { ClaimedId, Outcome } from '../../src/words/outcome.js';

export interface Finish extends ClaimedId {
  readonly outcome: Outcome;
}

export async function finish(
  db: Executor,
  jobs: TableName,
  finishes: readonly Finish[],
): Promise<Finished[]> {
  const completed = await completeMany(
    db,
    jobs,
    finishes.filter(({ outcome }) => outcome.move === 'complete'),
  );
  const again = completed.filter(({ result }) => result === 'again');
  const kept = finishes.filter(
    ({ id, outcome }) => outcome.move !== 'complete' || again.some((one) => one.id === id),
  );
  return [...completed.filter(({ result }) => result !== 'again'), ...(await keeping.finish(db, jobs, kept))];
}
