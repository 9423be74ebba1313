/** `createQueue`: the typed surface over the statements of `sql/` for those who enqueue, and for a person's moves. */
import { type AnyQueueTables, checkTables, publicTables } from '../database/any-tables.js';
import { assertExecutor, assertTransaction, type Executor, type Transaction } from '../database/executor.js';
import type { QueueTables } from '../database/tables.js';
import { type AnyRegistry, assertRegistry, type JobTypes, type Registry } from '../registry/registry.js';
import { checkKeys, trueOrFalse, wholeNumber } from '../words/checks.js';
import { invalidOption, QueueError } from '../words/errors.js';
import type { EnqueueArgs, QueueNames } from './enqueue-args.js';
import {
  type CheckedJob,
  checkEnqueueOptions,
  type EnqueueOptions,
  enqueueOptionKeys,
  newJob,
} from './enqueue-options.js';
import type { Enqueued } from './enqueued.js';
import { createInserts } from './insert.js';
import { type AnyRow, isKind, type RowOfKind } from './is-kind.js';
import { createMoves } from './make-moves.js';
import { createPauses } from './make-pauses.js';
import { createReading } from './make-reading.js';
import type { Moves } from './moves.js';
import type { Pauses } from './pauses.js';
import { type ReadableRow, type ReadRow, readRow } from './read-row.js';
import type { Reading } from './reading.js';

/** One job of a list. */
export interface EnqueueItem<Kind, Payload, Queue extends string = never> extends EnqueueOptions<Queue> {
  readonly kind: Kind;
  readonly payload: Payload;
}

/** One job of a list, of a kind without a payload. */
export interface EmptyItem<Kind, Queue extends string = never> extends EnqueueOptions<Queue> {
  readonly kind: Kind;
  readonly payload?: undefined;
}

/** Enqueues jobs of a registry's kinds, moves and reads those that are there, and pauses. `Tx` is what it takes as first argument. */
export interface Queue<R extends AnyRegistry, Tx = Executor> extends Moves<R, Tx>, Pauses<R, Tx>, Reading<R> {
  readonly registry: R;
  /** The tables that drizzle-kit sees, with the registry's types: for joins with the app's own. */
  readonly tables: QueueTables<R>;
  /**
   * Inserts one job in the caller's transaction: it exists if and only if that commits. With a `db` it commits at once.
   * Usable detached: `const { enqueue } = queue`.
   *
   * Where its dedupe key is taken by a job that waits or runs, or its throttle's period has had its job, the answer is that
   * job's id and `duplicate: true`. While another transaction is about to give or free the key, it waits for the end of that.
   *
   * @throws QueueError before any SQL, so that the transaction stays usable: `UNKNOWN_KIND`, `UNKNOWN_QUEUE`,
   * `INVALID_PAYLOAD`, `INVALID_OPTION`, `INVALID_EXECUTOR`, `TRANSACTION_REQUIRED`, `TABLE_MISMATCH` (a throttle without its
   * table). `DUPLICATE_NOT_SEEN` where the job that has the key is hidden from this role. Errors of Postgres come as Drizzle
   * throws them: with a dedupe key, 40001 under `repeatable read` and above, and 40P01 where two transactions take the same
   * keys in opposite order.
   */
  enqueue<Kind extends keyof R['kinds'] & string>(
    tx: Tx,
    kind: Kind,
    ...args: EnqueueArgs<R, Kind>
  ): Promise<Enqueued>;
  /**
   * Inserts a mixed list, all or nothing, in statements of up to 5,000 jobs. The answers are in the order of the
   * list; the empty list sends no SQL.
   *
   * Those with dedupe keys come first, in the order of kinds and keys, so that two lists never deadlock; those that
   * do not skip take a statement each. Of a key that is in the list twice, one job comes.
   *
   * @throws QueueError as {@link enqueue}, with the index of the job in `data.index`
   */
  enqueueMany(
    tx: Tx,
    list: readonly {
      [K in keyof R['kinds'] & string]: undefined extends R['kinds'][K]['$payload']
        ? EmptyItem<K, QueueNames<R>>
        : EnqueueItem<K, R['kinds'][K]['$payload'], QueueNames<R>>;
    }[keyof R['kinds'] & string][],
  ): Promise<Enqueued[]>;
  /**
   * Whether a row of {@link tables} is of this kind; then its payload has the kind's type. It is what the registry says
   * today: nothing is checked, a row may be older than the type, and one that has an alias of the kind is not it. For
   * such rows {@link read} them first. Takes whole rows, joined rows and any selection with `kind` and `payload`; false
   * for `undefined` and `null`. Usable detached.
   *
   * @throws QueueError `UNKNOWN_KIND`
   */
  isKind<Kind extends keyof R['kinds'] & string>(
    row: AnyRow | null | undefined,
    kind: Kind,
  ): row is RowOfKind<R, Kind>;
  /**
   * The row as the registry has it today: an alias becomes its kind, an older payload is upgraded, and `payloadVersion` is
   * that of the kind. Its type is a union by kind: `switch (row.kind)` narrows the payload. Takes any selection with
   * `kind`, `payload` and `payloadVersion`, and leaves it as it is. Usable detached.
   *
   * @throws QueueError `UNKNOWN_KIND`; `PAYLOAD_NOT_UPGRADED` where a step throws or none is known for its version, and for
   * a row of a newer release; `INVALID_OPTION` for what is no such row
   */
  read<Row extends ReadableRow>(row: Row): ReadRow<R, Row>;
}

/** What {@link createQueue} takes besides the registry. */
export interface QueueOptions {
  /**
   * Take only the `tx` of `db.transaction(async (tx) => …)`, by type and at run time, so that nobody enqueues beside
   * the transaction by mistake.
   * @default false
   */
  readonly requireTransaction?: boolean | undefined;
  /** What `queueTables({ schema })` gave. @default the tables of `drizzle-queue/schema` */
  readonly tables?: AnyQueueTables | undefined;
  /**
   * The largest payload, in bytes of JSON: from 2 to 100000000.
   * @default 1_048_576
   */
  readonly maxPayloadBytes?: number | undefined;
}

/**
 * Makes the object that enqueues.
 *
 * @throws QueueError `INVALID_OPTION`
 */
export function createQueue<Kinds extends JobTypes>(
  registry: Registry<Kinds>,
  options: QueueOptions & { readonly requireTransaction: true },
): Queue<Registry<Kinds>, Transaction>;
export function createQueue<Kinds extends JobTypes>(
  registry: Registry<Kinds>,
  options?: QueueOptions & { readonly requireTransaction?: false | undefined },
): Queue<Registry<Kinds>>;
export function createQueue<Kinds extends JobTypes>(
  registry: Registry<Kinds>,
  options: QueueOptions = {},
): Queue<Registry<Kinds>> {
  checkKeys('createQueue(…)', options, ['requireTransaction', 'tables', 'maxPayloadBytes']);
  assertRegistry(registry);
  const { requireTransaction = false, tables = publicTables, maxPayloadBytes = 1_048_576 } = options;
  wholeNumber('maxPayloadBytes', maxPayloadBytes, 2, 100_000_000);
  trueOrFalse('requireTransaction', requireTransaction);
  const checked = checkTables(tables);
  const inserts = createInserts(checked);
  const assertUsable = (tx: unknown): void =>
    requireTransaction
      ? assertTransaction(tx, 'This queue was made with `requireTransaction: true`.')
      : assertExecutor(tx);
  const moves = createMoves({ registry, jobs: checked.jobs, maxPayloadBytes, assertUsable });
  const pauses = createPauses({ registry, tables: checked, assertUsable });

  const queue = Object.freeze({
    registry,
    ...(moves as unknown as Moves<Registry<Kinds>, Executor>), // what comes back depends on what is given
    ...(pauses as unknown as Pauses<Registry<Kinds>, Executor>), // as below
    ...(createReading(registry, checked.jobs) as unknown as Reading<Registry<Kinds>>), // the registry's types are in no value
    // The same objects under the registry's types: what a column's type is, no value shows.
    tables: tables as unknown as QueueTables<Registry<Kinds>>,

    async enqueue(tx: Executor, kind: string, ...[payload, given]: readonly unknown[]) {
      assertUsable(tx);
      const job = newJob(registry, kind, payload, checkEnqueueOptions(given), maxPayloadBytes);
      return inserts.one(tx, job);
    },

    async enqueueMany(tx: Executor, list: readonly unknown[]) {
      assertUsable(tx);
      if (!Array.isArray(list)) throw invalidOption('list', 'an array of { kind, payload }', list);
      // Array.from, because map would pass over holes.
      const newJobs = Array.from(list, (item, index) => newJobOf(registry, item, index, maxPayloadBytes));
      return inserts.many(tx, newJobs);
    },

    isKind<Kind extends keyof Kinds & string>(
      row: AnyRow | null | undefined,
      kind: Kind,
    ): row is RowOfKind<Registry<Kinds>, Kind> {
      return isKind(registry, row, kind);
    },

    read: <Row extends ReadableRow>(row: Row) => readRow(registry, row),
  });
  if (requireTransaction) strict.add(queue);
  return queue;
}

const strict = new WeakSet<object>();

/** Whether this queue was made with `requireTransaction: true`. */
export function requiresTransaction(queue: object): boolean {
  return strict.has(queue);
}

const itemKeys = ['kind', 'payload', ...enqueueOptionKeys];

function newJobOf(registry: AnyRegistry, item: unknown, index: number, maxPayloadBytes: number): CheckedJob {
  try {
    checkKeys('a job of the list', item, itemKeys);
    const job = item as EnqueueItem<unknown, unknown, string>;
    return newJob(registry, job.kind, job.payload, job, maxPayloadBytes);
  } catch (error) {
    if (!(error instanceof QueueError)) throw error;
    throw new QueueError(error.code, `Job ${index} of the list: ${error.message}`, {
      data: { ...error.data, index },
      cause: error.cause,
    });
  }
}
