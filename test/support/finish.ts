/** Ends of runs as a worker writes them: one statement for each way to end. */
import type { Executor } from '../../src/database/executor.js';
import type { TableName } from '../../src/database/table-name.js';
import { finish as finishEnds } from '../../src/sql/finish.js';
import type { Finished } from '../../src/sql/finished.js';
import { type End, writesOf } from '../../src/worker/writes.js';

export type Finish = End;

export async function finish(
  db: Executor,
  jobs: TableName,
  finishes: readonly Finish[],
): Promise<Finished[]> {
  const answers: Finished[] = [];
  for (const { ends, send } of writesOf(finishes)) answers.push(...(await send(db, jobs, ends)));
  // Jobs that are to run once more are ended by the statement for those.
  const again = finishes.filter(({ id }) => answers.some((one) => one.id === id && one.result === 'again'));
  if (again.length === 0) return answers;
  const ended = await finishEnds(db, jobs, again);
  return [...answers.filter(({ result }) => result !== 'again'), ...ended];
}
