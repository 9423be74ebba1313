/**
 * Keeps a transaction whose connection is lost from doing harm, on postgres.js 3.4. By itself that sends a rollback into
 * the closed connection, which ends the process by an error that nobody can catch, or costs the pool that connection for
 * good; and what the callback sends later goes to whoever has the connection next, also into another transaction.
 */
import { clientOf } from './client.js';
import type { Executor } from './executor.js';
import { endsSession } from './sqlstate.js';

/** How long after such an error the connection's end may take. */
const endMs = 1_000;

type Callback = (tx: unknown) => unknown;
type Begin = (...args: unknown[]) => Promise<unknown>;
type Client = { begin: Begin };
/** Of one call of `begin`. */
interface Connection {
  /** Set when `begin` has failed before its callback: then the connection is lost. */
  lost: unknown;
  /** Resolves at the end of `begin`. */
  readonly over: Promise<unknown>;
}

const guarded = new WeakMap<Client, { users: number; readonly begin: Begin }>();

/** Guards the transactions of the database's postgres.js client until the returned function is called. */
export function guardTransactions(db: Executor): () => void {
  const client = clientOf(db);
  if (!isPostgresJs(client)) return () => {};
  const guard = guarded.get(client) ?? { users: 0, begin: client.begin };
  guarded.set(client, guard);
  if (guard.users++ === 0) client.begin = guardedBegin(guard.begin);
  return () => {
    if (--guard.users > 0) return;
    client.begin = guard.begin;
    guarded.delete(client);
  };
}

function guardedBegin(begin: Begin): Begin {
  return (...args) => {
    const callback = args.at(-1);
    if (!isCallback(callback)) return begin(...args);
    let end = (): void => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    const connection: Connection = { lost: undefined, over };
    const transaction = begin(...args.slice(0, -1), guardedCallback(callback, connection));
    transaction.then(end, (error: unknown) => {
      connection.lost = error;
      end();
    });
    return transaction;
  };
}

/** Never settles once the connection is lost: `begin` has rejected by then, and would send a commit or a rollback. */
function guardedCallback(callback: Callback, connection: Connection): Callback {
  return async (tx) => {
    try {
      const made = callback(guardedTransaction(tx, connection));
      const value = await (Array.isArray(made) ? Promise.all(made) : made);
      if (!connection.lost) return value;
    } catch (error) {
      // It may come of the loss, of which `begin` hears in the same turn; or just before it.
      await new Promise((resolve) => setImmediate(resolve));
      if (endsSession(error)) await Promise.race([connection.over, unheldDelay(endMs)]);
      if (!connection.lost) throw error;
    }
    return new Promise(() => {});
  };
}

/** The transaction as the callback sees it: once the connection is lost, it sends nothing. */
function guardedTransaction(tx: unknown, connection: Connection): unknown {
  if (typeof tx !== 'function') return tx;
  const assertConnected = (): void => {
    if (connection.lost) throw connection.lost;
  };
  return new Proxy(tx, {
    apply(target, self, args) {
      assertConnected();
      return Reflect.apply(target, self, args);
    },
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || !(name === 'unsafe' || name === 'file' || name === 'savepoint'))
        return value;
      return (...args: unknown[]) => {
        assertConnected();
        const given = args.map((arg) =>
          name === 'savepoint' && isCallback(arg) ? guardedCallback(arg, connection) : arg,
        );
        return Reflect.apply(value, target, given);
      };
    },
  });
}

function unheldDelay(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}

function isCallback(value: unknown): value is Callback {
  return typeof value === 'function';
}

function isPostgresJs(client: unknown): client is Client {
  return (
    typeof client === 'function' && 'begin' in client && isCallback(client.begin) && 'largeObject' in client
  );
}
