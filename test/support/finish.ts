/** Ends of runs as a worker writes them: one statement for each way to end. */
import type { Executor } from '../../src/database/executor.js';
import type { TableName } from '../../src/database/table-name.js';
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
  return answers;
}
