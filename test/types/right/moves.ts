/** Uses of a person's moves that compile, and what they infer. */
import { expectTypeOf } from 'vitest';
import type { MoveAnswer, Moves, ReplayAnswer, State } from '../../../src/index.js';
import { db, queue, type registry, strictQueue, tx } from '../app.js';

export async function move(ids: readonly number[], unknown: number | undefined): Promise<void> {
  // One id gives one answer, a list a list.
  expectTypeOf(await queue.cancel(tx, 1)).toEqualTypeOf<MoveAnswer<'cancelled'>>();
  expectTypeOf(await queue.cancel(db, ids)).toEqualTypeOf<MoveAnswer<'cancelled'>[]>();
  expectTypeOf(await queue.replay(tx, 1, { preview: true })).toEqualTypeOf<ReplayAnswer>();
  expectTypeOf(await queue.replay(tx, [1, 2])).toEqualTypeOf<ReplayAnswer[]>();
  expectTypeOf(await queue.replay(tx, { kind: 'ping', limit: unknown })).toEqualTypeOf<ReplayAnswer[]>();
  await queue.replay(tx, {
    state: 'cancelled',
    queue: 'mail',
    finishedBefore: new Date(),
    finishedAfter: '2027-01-01T00:00:00Z',
    errorMatches: 'ECONNRESET',
  });
  expectTypeOf(await queue.remove(tx, 1)).toEqualTypeOf<MoveAnswer<null>>();
  expectTypeOf(await queue.reschedule(tx, 1, { delayMs: 1 })).toEqualTypeOf<MoveAnswer<'available'>>();
  await queue.reschedule(tx, 1, { runAt: new Date() });
  await queue.runNow(tx, 1);
  await queue.update(tx, 'sendReceipt', 1, { orderId: 1 });
  await queue.update(tx, 'ping', 1, undefined);
  await queue.update(tx, 'ping', 1);

  // What happened narrows what state there can be.
  const answer = await queue.cancel(tx, 1);
  if (answer.result === 'done') expectTypeOf(answer.state).toEqualTypeOf<'cancelled'>();
  if (answer.result === 'gone') expectTypeOf(answer.state).toEqualTypeOf<null>();
  if (answer.result === 'refused') expectTypeOf(answer.state).toEqualTypeOf<State>();

  // Detached, and under requireTransaction.
  const { cancel } = queue;
  await cancel(tx, 1);
  await strictQueue.cancel(tx, ids);
  expectTypeOf(queue).toExtend<Moves<typeof registry, typeof db>>();
}
