/** Uses of enqueue and enqueueMany that compile, and what they infer. */
import { expectTypeOf } from 'vitest';
import type {
  EnqueueArgs,
  Enqueued,
  EnqueueOptions,
  PayloadOf,
  QueueNames,
  ResultOf,
} from '../../../src/index.js';
import { db, queue, type Receipt, registry, strictQueue, tx } from '../app.js';

type Registry = typeof registry;

// Payloads and results by kind; a kind made by `job()` has neither, and neither is `any`.
expectTypeOf<PayloadOf<Registry, 'sendReceipt'>>().toEqualTypeOf<Receipt>();
expectTypeOf<PayloadOf<Registry, 'ping'>>().toEqualTypeOf<void>();
expectTypeOf<PayloadOf<Registry, 'ping'>>().not.toBeAny();
expectTypeOf<ResultOf<Registry, 'ping'>>().toEqualTypeOf<void>();
expectTypeOf<ResultOf<Registry, 'countOrders'>>().toEqualTypeOf<{ count: number }>();
expectTypeOf<ResultOf<Registry, 'sendReceipt'>>().toEqualTypeOf<void>();
expectTypeOf(registry.kinds.sendReceipt.$queue).toEqualTypeOf<'mail'>();
expectTypeOf(registry.kinds.ping.$queue).toEqualTypeOf<'default'>();

// The arguments after the kind.
expectTypeOf<EnqueueArgs<Registry, 'reindex'>>().toEqualTypeOf<
  [payload: { courseId: number }, options?: EnqueueOptions<QueueNames<Registry>>]
>();
expectTypeOf<EnqueueArgs<Registry, 'ping'>>().toEqualTypeOf<
  [payload?: void, options?: EnqueueOptions<QueueNames<Registry>>]
>();
expectTypeOf<QueueNames<Registry>>().toEqualTypeOf<'default' | 'mail' | 'reports'>();
expectTypeOf<EnqueueArgs<Registry, 'sendReceipt' | 'reindex'>[0]>().toEqualTypeOf<
  Receipt & { courseId: number }
>();

/** Options that a function of the app takes fit every registry; with a queue they name whose. */
export async function pingWith(options: EnqueueOptions): Promise<void> {
  await queue.enqueue(tx, 'ping', undefined, options);
  await queue.enqueueMany(tx, [{ kind: 'ping', ...options }]);
}
export async function pingOn(options: EnqueueOptions<QueueNames<Registry>>): Promise<void> {
  await queue.enqueue(tx, 'ping', undefined, {
    ...options,
    queue: 'mail',
    timeoutMs: 5,
    meta: { trace: 'a' },
  });
}

export async function enqueueOne(note: string | undefined, runAt: Date | undefined): Promise<void> {
  expectTypeOf(await queue.enqueue(tx, 'sendReceipt', { orderId: 1 })).toEqualTypeOf<Enqueued>();
  expectTypeOf<Enqueued['id']>().toEqualTypeOf<number>();
  expectTypeOf<Enqueued['duplicate']>().toEqualTypeOf<boolean>();
  await queue.enqueue(tx, 'ping', undefined, {
    dedupeKey: note,
    onDuplicate: undefined,
    maxWaitMs: undefined,
  });
  await queue.enqueueMany(tx, [
    { kind: 'ping', dedupeKey: 'all', onDuplicate: 'debounce', maxWaitMs: 1_000 },
  ]);
  await queue.enqueue(db, 'sendReceipt', { orderId: 1, note: 'thanks' }, { delayMs: 1_000, priority: 3 });
  await queue.enqueue(tx, 'sendReceipt', { orderId: 1, ...(note === undefined ? {} : { note }) });
  await queue.enqueue(tx, 'sendReminder', { userId: 1, at: 'evening' });
  await queue.enqueue(tx, 'countOrders', { day: '2027-01-01' });

  // A kind without a payload: left out, or undefined in front of options.
  await queue.enqueue(tx, 'ping');
  await queue.enqueue(tx, 'ping', undefined, { maxAttempts: 1 });

  // Under exactOptionalPropertyTypes a value that may be missing can be handed on.
  await queue.enqueue(tx, 'ping', undefined, { runAt, delayMs: undefined, priority: undefined });

  // Detached, and under requireTransaction.
  const { enqueue, enqueueMany } = queue;
  await enqueue(tx, 'reindex', { courseId: 1 });
  await enqueueMany(tx, [{ kind: 'ping' }]);
  await strictQueue.enqueue(tx, 'reindex', { courseId: 1 });
  await db.transaction(async (inner) => {
    await strictQueue.enqueue(inner, 'ping');
    await inner.transaction((nested) => strictQueue.enqueueMany(nested, [{ kind: 'ping' }]));
  });
}

/** An app's own function around enqueue; its callers get the same checks. */
export function later<Kind extends keyof Registry['kinds'] & string>(
  kind: Kind,
  ...args: EnqueueArgs<Registry, Kind>
): Promise<Enqueued> {
  return queue.enqueue(db, kind, ...args);
}

export async function enqueueThroughTheWrapper(): Promise<void> {
  await later('sendReceipt', { orderId: 1 });
  await later('ping');
}

export async function enqueueList(orders: readonly { id: number }[]): Promise<void> {
  // One mixed list, made without `as const`.
  expectTypeOf(
    await queue.enqueueMany(tx, [
      { kind: 'sendReceipt', payload: { orderId: 1 }, priority: 1 },
      { kind: 'ping', delayMs: 500, wake: false },
      { kind: 'ping', payload: undefined },
      { kind: 'sendReminder', payload: { userId: 1, at: 'morning' } },
    ]),
  ).toEqualTypeOf<Enqueued[]>();
  await queue.enqueueMany(
    tx,
    orders.map((order) => ({ kind: 'sendReceipt', payload: { orderId: order.id } })),
  );
  await strictQueue.enqueueMany(
    tx,
    orders.map(({ id }) => ({ kind: 'sendReminder', payload: { userId: id, at: 'evening' } })),
  );
  await queue.enqueueMany(db, []);
}
