/** `createTransactions`: enqueue in the current transaction without being handed `tx`. */
import {
  assertExecutor,
  assertTransaction,
  type Database,
  type Executor,
  isTransaction,
  type Transaction,
} from '../database/executor.js';
import type { AnyRegistry } from '../registry/registry.js';
import { checkFunction, checkKeys, trueOrFalse } from '../words/checks.js';
import { invalidOption, QueueError } from '../words/errors.js';
import { currentTransactionOf, inTurn, type Scope } from './current-transaction.js';
import type { EnqueueArgs } from './enqueue-args.js';
import type { Enqueued } from './enqueued.js';
import { type Queue, requiresTransaction } from './queue.js';

/** What `db.transaction(…)` gives to its callback. */
export type TransactionOf<Db extends Executor> = Parameters<Parameters<Db['transaction']>[0]>[0];
/** What `db.transaction(…)` takes beside its callback: the isolation level and the like. */
export type TransactionConfigOf<Db extends Executor> = Parameters<Db['transaction']>[1];

/**
 * Transactions that code below them finds by itself. `Outside` is what {@link current} gives where there is none.
 * Usable detached: `export const { transaction, enqueue } = createTransactions(db, queue)`.
 */
export interface Transactions<R extends AnyRegistry, Db extends Executor, Outside = never> {
  /**
   * As `db.transaction(run, config)`, and it is the current transaction of all that `run` calls, through every `await`.
   * Inside another one it is a savepoint of that, as `tx.transaction(run)` is, and takes no `config`; of a savepoint that
   * is rolled back no job is left. Savepoints and enqueues of one transaction go one after another, however they are called:
   * an enqueue beside an open savepoint would be inside of it, and go with it.
   *
   * An enqueue or savepoint that nobody awaited is waited for at the end of `run`. Where one fails, then or before, the
   * transaction is rolled back and rejects with its error. A call that comes still later is refused.
   *
   * @throws QueueError `TRANSACTION_ENDED`, `INVALID_OPTION`; all else as Drizzle throws it
   */
  transaction<Answer>(
    run: (tx: TransactionOf<Db>) => Promise<Answer>,
    config?: TransactionConfigOf<Db>,
  ): Promise<Answer>;
  /**
   * Makes a transaction that somebody else began the current one of all that `work` calls: that of a test, or of code which
   * calls `db.transaction` itself. Several at once, of one transaction, take turns as all calls of it do.
   *
   * @throws QueueError `TRANSACTION_REQUIRED`, `INVALID_EXECUTOR`
   */
  within<Answer>(tx: Transaction, work: () => Promise<Answer>): Promise<Answer>;
  /** Runs something that is to stand whatever becomes of the current transaction, or that lives longer: in no transaction. */
  outside<Answer>(work: () => Answer): Answer;
  /**
   * The current transaction, for queries of your own and for the moves of a queue.
   *
   * @throws QueueError `TRANSACTION_REQUIRED` where there is none, `TRANSACTION_ENDED`
   */
  current(): TransactionOf<Db> | Outside;
  /**
   * As `queue.enqueue(tx, …)` in the current transaction.
   *
   * @throws QueueError `TRANSACTION_REQUIRED` where there is none, `TRANSACTION_ENDED` in a call that came after its end;
   * else as `queue.enqueue`
   */
  enqueue<Kind extends keyof R['kinds'] & string>(
    kind: Kind,
    ...args: EnqueueArgs<R, Kind>
  ): Promise<Enqueued>;
  /** As `queue.enqueueMany(tx, list)` in the current transaction. Throws as {@link enqueue}. */
  enqueueMany(list: Parameters<Queue<R>['enqueueMany']>[1]): Promise<Enqueued[]>;
}

/** What {@link createTransactions} takes besides the database and the queue. */
export interface TransactionsOptions {
  /**
   * Whether an enqueue outside of every transaction is refused. With `false` it goes to the database and commits at once,
   * and `current()` gives the database there; not for a queue that itself was made with `requireTransaction: true`.
   * @default true
   */
  readonly requireTransaction?: boolean | undefined;
}

/** What of a queue is used; of a queue of either kind. */
type Enqueues<R extends AnyRegistry, Tx> = Pick<Queue<R, Tx>, 'registry' | 'enqueue' | 'enqueueMany'>;

/** A queue that also takes databases. Not a method, whose parameters TypeScript compares both ways. */
interface TakesDatabases {
  readonly enqueue: (tx: Executor, ...rest: never[]) => unknown;
}

/**
 * Makes transactions of a database that carry themselves to the code they call, and the enqueues of a queue in them.
 * Calls with the same `db` share their transactions, also for different queues.
 *
 * Only transactions begun here (or handed to `within`) are seen, not those of a plain `db.transaction(…)`.
 *
 * @throws QueueError `INVALID_EXECUTOR`, `INVALID_OPTION`
 */
export function createTransactions<R extends AnyRegistry, Db extends Database>(
  db: Db,
  queue: Enqueues<R, Transaction>,
  options?: TransactionsOptions & { readonly requireTransaction?: true | undefined },
): Transactions<R, Db>;
export function createTransactions<R extends AnyRegistry, Db extends Database>(
  db: Db,
  queue: Enqueues<R, Executor> & TakesDatabases,
  options: TransactionsOptions & { readonly requireTransaction: false },
): Transactions<R, Db, Db>;
export function createTransactions<R extends AnyRegistry>(
  db: Database,
  queue: Enqueues<R, Executor>,
  options: TransactionsOptions = {},
): Transactions<R, Database, Database> {
  assertExecutor(db);
  if (isTransaction(db)) {
    throw new QueueError(
      'INVALID_EXECUTOR',
      'Expected the database that transactions are begun on, got a transaction. Where you have one already: within(tx, …).',
    );
  }
  checkFunctions(queue);
  checkKeys('createTransactions(…)', options, ['requireTransaction']);
  const required = trueOrFalse('requireTransaction', options.requireTransaction ?? true);
  if (!required && requiresTransaction(queue)) {
    throw invalidOption(
      'requireTransaction',
      'left out for a queue that was made with `requireTransaction: true`',
      false,
    );
  }
  const current = currentTransactionOf(db);

  function inCurrent<Answer>(send: (tx: Executor) => Promise<Answer>): Promise<Answer> {
    return promised(() => {
      const scope = current.scope();
      const tx = usable(scope);
      // In no transaction: what the queue itself does with `tx` has nothing to wait for.
      return scope ? inTurn(scope, () => current.outside(() => send(tx))) : send(tx);
    });
  }

  function usable(scope: Scope | undefined): Executor {
    if (scope) return scope.tx;
    if (!required) return db;
    throw new QueueError(
      'TRANSACTION_REQUIRED',
      'There is no transaction here. Call this inside transaction(async () => …), or say `requireTransaction: false` in ' +
        'createTransactions(…) to let jobs commit by themselves.',
    );
  }

  return Object.freeze({
    transaction<Answer>(run: (tx: Executor) => Promise<Answer>, config?: unknown): Promise<Answer> {
      return promised(() => {
        checkFunction('run', run);
        const scope = current.scope();
        if (!scope) return db.transaction((tx: Executor) => current.runIn(tx, run), config);
        if (config === undefined) return scope.tx.transaction(run);
        throw invalidOption(
          'config',
          'left out inside another transaction, of which this is a savepoint',
          config,
        );
      });
    },
    within<Answer>(tx: Transaction, work: () => Promise<Answer>): Promise<Answer> {
      return promised(() => {
        assertTransaction(tx, 'within(tx, …) takes a transaction that is open.');
        checkFunction('work', work);
        return current.runIn(tx, work);
      });
    },
    outside<Answer>(work: () => Answer): Answer {
      return current.outside(work);
    },
    current: () => usable(current.scope()),
    enqueue<Kind extends keyof R['kinds'] & string>(kind: Kind, ...args: EnqueueArgs<R, Kind>) {
      return inCurrent((tx) => queue.enqueue(tx, kind, ...args));
    },
    enqueueMany(list: Parameters<Queue<R>['enqueueMany']>[1]) {
      return inCurrent((tx) => queue.enqueueMany(tx, list));
    },
  });
}

/** What throws at once rejects instead: who calls it awaits it. Else the very promise that the end of the scope knows of. */
function promised<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return work();
  } catch (error) {
    return Promise.reject(error);
  }
}

function checkFunctions(queue: unknown): void {
  const { enqueue, enqueueMany } = (queue ?? {}) as { enqueue?: unknown; enqueueMany?: unknown };
  if (typeof enqueue === 'function' && typeof enqueueMany === 'function') return;
  throw invalidOption('queue', 'what createQueue(…) gave', queue);
}
