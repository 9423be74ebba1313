/**
 * What the library takes from Drizzle: an object that can execute a query.
 *
 * The types are structural, because Drizzle's own classes have other names in each generation (`PgDatabase`,
 * `PgAsyncDatabase`) and two copies of one version already refuse each other's.
 */
import { QueueError, show } from '../words/errors.js';

/** A Drizzle Postgres database or transaction. */
export interface Executor {
  // Drizzle's SQL class is not named: two copies of it (pnpm makes them) clash by their private members.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  execute(query: any): PromiseLike<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: as above, and the config differs by generation
  transaction(run: (tx: any) => Promise<any>, config?: any): Promise<any>;
}

/** A Drizzle transaction: what `db.transaction` hands to its callback. */
export interface Transaction extends Executor {
  rollback(): never;
}

/** A Drizzle database that is not a transaction. */
export interface Database extends Executor {
  rollback?: undefined;
}

/** Throws unless this can execute queries against Postgres. */
export function assertExecutor(value: unknown, place = 'as the first argument'): asserts value is Executor {
  const candidate = value as Partial<Executor> | null | undefined;
  if (typeof candidate === 'object' && candidate !== null) {
    const foreign = foreignDialect(candidate);
    if (foreign) {
      throw new QueueError(
        'INVALID_EXECUTOR',
        `Expected a Drizzle Postgres database or transaction, got ${foreign}.`,
      );
    }
    if (typeof candidate.execute === 'function' && typeof candidate.transaction === 'function') return;
  }
  throw new QueueError(
    'INVALID_EXECUTOR',
    `Expected a Drizzle database or transaction ${place}, got ${show(value)}. ` +
      'Pass `db` from `drizzle(…)`, or the `tx` of `db.transaction(async (tx) => …)`, not the driver or a query.',
  );
}

/** Throws unless this is a transaction; `why` ends the message. */
export function assertTransaction(value: unknown, why: string): asserts value is Transaction {
  assertExecutor(value);
  if (isTransaction(value)) return;
  throw new QueueError(
    'TRANSACTION_REQUIRED',
    `Expected the \`tx\` of \`db.transaction(async (tx) => …)\`, got a database. ${why}`,
  );
}

export function isTransaction(value: Executor): value is Transaction {
  return typeof (value as Partial<Transaction>).rollback === 'function';
}

/** Whether its driver is one node-postgres Client: a connection that all callers share, their transactions included. */
export function isSingleClient(db: Executor): boolean {
  const client: unknown = '$client' in db ? db.$client : undefined;
  return (
    typeof client === 'object' && client !== null && 'processID' in client && 'connectionParameters' in client
  );
}

/**
 * Whether it is a transaction of postgres.js, whose connection may be another one by now: when it broke, the driver makes
 * a new one, and what follows runs outside of any transaction (porsager/postgres#1216).
 */
export function mayHaveReconnected(tx: Transaction): boolean {
  return drizzleKinds(tx).includes('PostgresJsTransaction');
}

/** Drizzle's name of a database of another dialect (`MySql2Database`, …), or undefined. */
function foreignDialect(value: object): string | undefined {
  return drizzleKinds(value).find((kind) =>
    /mysql|sqlite|singlestore|mssql|cockroach|planetscale|tidb/i.test(kind),
  );
}

const entityKind = Symbol.for('drizzle:entityKind');

/** Drizzle's names of the classes of a value: its own first. */
function drizzleKinds(value: object): string[] {
  const kinds: string[] = [];
  for (let proto: object | null = value; proto !== null; proto = Object.getPrototypeOf(proto)) {
    const kind: unknown = (proto.constructor as { [entityKind]?: unknown } | undefined)?.[entityKind];
    if (typeof kind === 'string') kinds.push(kind);
  }
  return kinds;
}
