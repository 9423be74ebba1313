/**
 * Which transaction is the current one: it travels with the calls that its callback makes, through every `await`, and is
 * over for those that come after its end.
 */
import type { Executor } from '../database/executor.js';
import { transactionStorage } from '../database/transaction-storages.js';
import { QueueError } from '../words/errors.js';

/** What one callback of a transaction, or of a savepoint, has around it. */
export interface Scope {
  readonly tx: Executor;
  readonly turns: Turns;
  /** The callback is over; what was begun in it is waited for. */
  ending: boolean;
  /** No call joins it any more: its end is being written, or is. */
  ended: boolean;
  /** What was begun in it and is not over; never rejects. */
  readonly pending: Set<Promise<void>>;
  /** What of it failed. */
  readonly faults: Fault[];
}

/** The calls of a transaction, or savepoint, one after another: it has one for all of its scopes. */
interface Turns {
  /** The end of the last one; never rejects. */
  last: Promise<unknown>;
  /** Those that a savepoint is one of. */
  readonly around: Turns | undefined;
}

interface Fault {
  readonly error: unknown;
  /** Whether the callback could still be told, and asked. */
  told(): boolean;
}

export interface CurrentTransaction {
  /** Of this call; undefined outside of every transaction. Throws `TRANSACTION_ENDED` in a call that came too late. */
  scope(): Scope | undefined;
  /**
   * Runs the callback of a transaction that is open, as the current one. Inside of another callback of the same transaction,
   * or of a savepoint of it, the end of that waits for this.
   */
  runIn<Answer>(tx: Executor, run: (tx: Executor) => Promise<Answer>): Promise<Answer>;
  /** Runs something in no transaction. */
  outside<Answer>(work: () => Answer): Answer;
}

const ofDatabases = new WeakMap<Executor, CurrentTransaction>();

/** That of a database: the same for all who ask, so that several queues share a transaction. */
export function currentTransactionOf(db: Executor): CurrentTransaction {
  const current = ofDatabases.get(db) ?? createCurrentTransaction();
  ofDatabases.set(db, current);
  return current;
}

/**
 * Does something in the scope, once all that was begun before is over: sent beside an open savepoint it would be inside of
 * that, and go with it.
 */
export function inTurn<Answer>(scope: Scope, work: () => Promise<Answer>): Promise<Answer> {
  const { turns } = scope;
  const answer = turns.last.then(work);
  turns.last = answer.catch(() => {});
  return joined(scope, answer);
}

/** Has the end of the scope wait for this, and tell of its fault where nobody asked for it. */
function joined<Answer>(scope: Scope, work: Promise<Answer>): Promise<Answer> {
  const given = new Given<Answer>((resolve) => resolve(work));
  const over: Promise<void> = work.then(
    () => {},
    (error: unknown) => {
      const late = scope.ending;
      scope.faults.push({ error, told: () => !late && given.asked });
    },
  );
  scope.pending.add(over);
  void over.then(() => scope.pending.delete(over));
  return given;
}

/** Knows whether anybody asked how it went. That nobody did must not end the process: the transaction tells. */
class Given<Answer> extends Promise<Answer> {
  /** What comes of it is a plain promise. */
  static override readonly [Symbol.species] = Promise;
  asked = false;

  constructor(start: (resolve: (answer: Promise<Answer>) => void) => void) {
    super(start);
    super.then(undefined, () => {});
  }

  // `await` calls it as well, which it does not for a plain promise.
  // biome-ignore lint/suspicious/noThenProperty: it is a promise
  override then<A = Answer, B = never>(
    done?: ((answer: Answer) => A | PromiseLike<A>) | null,
    failed?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.asked = true;
    return super.then(done, failed);
  }
}

function createCurrentTransaction(): CurrentTransaction {
  const storage = transactionStorage<Scope>();
  /** Of those that were current; their savepoints become current as well. */
  const known = new WeakMap<Executor, Turns>();

  function runIn<Answer>(tx: Executor, run: (tx: Executor) => Promise<Answer>): Promise<Answer> {
    const turns = turnsOf(tx);
    const scope = openScope();
    const answer = runAs(tx, turns, run);
    return scope?.turns === turns ? joined(scope, answer) : answer;
  }

  async function runAs<Answer>(
    tx: Executor,
    turns: Turns,
    run: (tx: Executor) => Promise<Answer>,
  ): Promise<Answer> {
    const scope: Scope = { tx, turns, ending: false, ended: false, pending: new Set(), faults: [] };
    let answer: Answer;
    try {
      answer = await storage.run(scope, run, tx);
    } catch (error) {
      await allOver(scope); // sent after the rollback, it would be committed alone
      throw error;
    }
    await allOver(scope);
    const fault = scope.faults.find(({ told }) => !told());
    if (fault) throw fault.error;
    return answer;
  }

  /** Inside of an open savepoint all goes into that, by whichever object it is sent: it has its turn there. */
  function turnsOf(tx: Executor): Turns {
    const own = known.get(tx) ?? carryIntoSavepoints(tx, undefined);
    const here = openScope()?.turns;
    return here && isWithin(here, own) ? here : own;
  }

  /** On the object itself, which so stays the one that everybody has: what else is known of it goes by the object. */
  function carryIntoSavepoints(tx: Executor, around: Turns | undefined): Turns {
    const own: Turns = { last: Promise.resolve(), around };
    known.set(tx, own);
    const savepoint = tx.transaction.bind(tx);
    tx.transaction = (run: (tx: Executor) => Promise<unknown>, config?: unknown) => {
      const scope = openScope();
      const turns = turnsOf(tx);
      const begin = () =>
        savepoint(
          (inner: Executor) => runAs(inner, known.get(inner) ?? carryIntoSavepoints(inner, turns), run),
          config,
        );
      return scope?.turns === turns ? inTurn(scope, begin) : begin();
    };
    return own;
  }

  function openScope(): Scope | undefined {
    const scope = storage.getStore();
    return scope?.ended ? undefined : scope;
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

/** Waits for all that was begun, also by what was begun. Nothing joins the scope afterwards. */
async function allOver(scope: Scope): Promise<void> {
  scope.ending = true;
  while (scope.pending.size > 0) await Promise.all(scope.pending);
  scope.ended = true; // in the same turn as the look above
}

function isWithin(inner: Turns, outer: Turns): boolean {
  return inner === outer || (inner.around !== undefined && isWithin(inner.around, outer));
}

function tooLate(): QueueError {
  return new QueueError(
    'TRANSACTION_ENDED',
    'The transaction that this call belongs to has ended. A timer made the call, or a promise that nobody awaited: await it ' +
      'inside the callback. If it is to be apart from that transaction, call it inside outside(() => …).',
  );
}
