/**
 * Which transaction is the current one: it travels with the calls that its callback makes, through every `await`, and is
 * over for those that come after its end.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Executor } from '../database/executor.js';
import { QueueError } from '../words/errors.js';

/** What one callback of a transaction, or of a savepoint, has around it. */
export interface Scope {
  readonly tx: Executor;
  /** The callback is over; what was begun in it is waited for. */
  ending: boolean;
  /** No call joins it any more: its end is being written, or is. */
  ended: boolean;
  /** What was begun in it and is not over; never rejects. */
  readonly pending: Set<Promise<Fault | undefined>>;
  /** The end of the last of these. */
  last: Promise<unknown>;
}

interface Fault {
  readonly error: unknown;
}

export interface CurrentTransaction {
  /** Of this call; undefined outside of every transaction. Throws `TRANSACTION_ENDED` in a call that came too late. */
  scope(): Scope | undefined;
  /** Runs the callback of a transaction that is open, as the current one. */
  runIn<Answer>(tx: Executor, run: (tx: Executor) => Promise<Answer>): Promise<Answer>;
  /** Runs something in no transaction. */
  outside<Answer>(work: () => Answer): Answer;
}

const known = new WeakMap<Executor, CurrentTransaction>();

/** That of a database: the same for all who ask, so that several queues share a transaction. */
export function currentTransactionOf(db: Executor): CurrentTransaction {
  const current = known.get(db) ?? createCurrentTransaction();
  known.set(db, current);
  return current;
}

/**
 * Does something in the scope, once all that was begun before is over: sent beside an open savepoint it would be inside of
 * that, and go with it.
 */
export function inTurn<Answer>(scope: Scope, work: () => Promise<Answer>): Promise<Answer> {
  const answer = scope.last.then(work);
  scope.last = joined(scope, answer);
  const given = answer.then((value) => value);
  answer.catch(() => {
    // Of this error the transaction tells; that nobody awaited the call must not end the process on top of that.
    if (scope.ending) given.catch(() => {});
  });
  return given;
}

/** Has the end of the scope wait for this; gives what tells how it went. */
function joined(scope: Scope, work: Promise<unknown>): Promise<Fault | undefined> {
  const over: Promise<Fault | undefined> = work.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  scope.pending.add(over);
  void over.then(() => scope.pending.delete(over));
  return over;
}

function createCurrentTransaction(): CurrentTransaction {
  const storage = new AsyncLocalStorage<Scope | undefined>();
  /** Those whose savepoints become current as well. */
  const carried = new WeakSet<Executor>();

  async function runIn<Answer>(tx: Executor, run: (tx: Executor) => Promise<Answer>): Promise<Answer> {
    carryIntoSavepoints(tx);
    const scope: Scope = { tx, ending: false, ended: false, pending: new Set(), last: Promise.resolve() };
    let answer: Answer;
    try {
      answer = await storage.run(scope, run, tx);
    } catch (error) {
      await allOver(scope); // sent after the rollback, it would be committed alone
      throw error;
    }
    const fault = await allOver(scope);
    if (fault) throw fault.error;
    return answer;
  }

  /** On the object itself, which so stays the one that everybody has: what else is known of it goes by the object. */
  function carryIntoSavepoints(tx: Executor): void {
    if (carried.has(tx)) return;
    carried.add(tx);
    const savepoint = tx.transaction.bind(tx);
    tx.transaction = (run: (tx: Executor) => Promise<unknown>, config?: unknown) => {
      const scope = storage.getStore();
      const begin = () => savepoint((inner: Executor) => runIn(inner, run), config);
      return scope?.tx === tx && !scope.ended ? inTurn(scope, begin) : begin();
    };
  }

  return {
    scope() {
      const scope = storage.getStore();
      if (scope?.ended) throw tooLate();
      return scope;
    },
    runIn,
    outside: (work) => storage.run(undefined, work),
  };
}

/** Waits for all that was begun, also by what was begun; the first fault of it. Nothing joins the scope afterwards. */
async function allOver(scope: Scope): Promise<Fault | undefined> {
  let first: Fault | undefined;
  scope.ending = true;
  while (scope.pending.size > 0) {
    for (const fault of await Promise.all(scope.pending)) first ??= fault;
  }
  scope.ended = true; // in the same turn as the look above
  return first;
}

function tooLate(): QueueError {
  return new QueueError(
    'TRANSACTION_ENDED',
    'The transaction that this call belongs to has ended. A timer made the call, or a promise that nobody awaited: await it ' +
      'inside the callback. If it is to be apart from that transaction, call it inside outside(() => …).',
  );
}
