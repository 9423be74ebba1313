/** Work of which nothing is left but its answer. */
import type { Executor } from '../database/executor.js';

/** Does it in a transaction, or a savepoint of the caller's, and rolls that back. */
export async function rolledBack<Answer>(
  tx: Executor,
  work: (inner: Executor) => Promise<Answer>,
): Promise<Answer> {
  const undo = new Error('A preview leaves nothing behind.');
  let answer: { readonly is: Answer } | undefined;
  try {
    await tx.transaction(async (inner: Executor) => {
      answer = { is: await work(inner) };
      throw undo;
    });
  } catch (error) {
    if (error !== undo || !answer) throw error;
    return answer.is;
  }
  throw undo; // a transaction that swallows the error of its callback has committed
}
