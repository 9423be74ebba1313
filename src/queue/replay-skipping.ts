/** A replay that skips what would be a second unfinished job of its dedupe key, also where an enqueue of it comes between. */
import { type Executor, isTransaction } from '../database/executor.js';
import { isDuplicate } from '../database/sqlstate.js';
import type { TableName } from '../database/table-name.js';
import type { FinalFilter } from '../sql/find-final.js';
import type { MovedRow } from '../sql/persons-move.js';
import { replay } from '../sql/replay.js';

/** Each try sees what has committed before it; that this fails again and again needs an enqueue between each two. */
const tries = 4;

/**
 * Replays these jobs and skips the duplicates, up to {@link tries} times for the one that meets such an enqueue. In the
 * caller's transaction each try is a savepoint, since a failure would end that.
 */
export async function replaySkipping(
  tx: Executor,
  table: TableName,
  channel: string,
  ids: readonly number[],
  filter: FinalFilter,
): Promise<MovedRow[]> {
  const send = (db: Executor, some: readonly number[]) => replay(db, table, channel, some, filter);
  if (isTransaction(tx)) return inSavepoints(tx, ids, send);
  try {
    return await send(tx, ids);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    return tx.transaction((inner: Executor) => inSavepoints(inner, ids, send)); // all of it or nothing
  }
}

/** Halves what fails, down to the row; most halves go at their next try, which sees what has committed since. */
async function inSavepoints(
  tx: Executor,
  ids: readonly number[],
  send: (db: Executor, ids: readonly number[]) => Promise<MovedRow[]>,
  left = tries,
): Promise<MovedRow[]> {
  try {
    return await tx.transaction((inner: Executor) => send(inner, ids));
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    if (ids.length === 1) {
      if (left === 1) throw error;
      return inSavepoints(tx, ids, send, left - 1);
    }
  }
  const middle = Math.ceil(ids.length / 2);
  const first = await inSavepoints(tx, ids.slice(0, middle), send);
  return [...first, ...(await inSavepoints(tx, ids.slice(middle), send))];
}
