/** A replay that skips what would be a second unfinished job of its dedupe key, also where an enqueue of it comes between. */
import { type Executor, isTransaction } from '../database/executor.js';
import { isDuplicate } from '../database/sqlstate.js';
import type { TableName } from '../database/table-name.js';
import type { FinalFilter } from '../sql/find-final.js';
import type { MovedRow } from '../sql/persons-move.js';
import { replay } from '../sql/replay.js';

/** Each try sees what has committed before it; that this fails again and again needs an enqueue between each two. */
const tries = 4;

export async function replaySkipping(
  tx: Executor,
  table: TableName,
  channel: string,
  ids: readonly number[],
  filter: FinalFilter,
): Promise<MovedRow[]> {
  const send = (some: readonly number[]) => safely(tx, (db) => replay(db, table, channel, some, filter));
  try {
    return await send(ids);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
  }
  const answers: MovedRow[] = [];
  for (const id of ids) answers.push(...(await again(() => send([id]))));
  return answers;
}

async function again(send: () => Promise<MovedRow[]>): Promise<MovedRow[]> {
  for (let left = tries; ; left--) {
    try {
      return await send();
    } catch (error) {
      if (!isDuplicate(error) || left === 1) throw error;
    }
  }
}

/** In the caller's transaction a savepoint, or a failure would end that. */
function safely(tx: Executor, work: (db: Executor) => Promise<MovedRow[]>): Promise<MovedRow[]> {
  return isTransaction(tx) ? tx.transaction(work) : work(tx);
}
