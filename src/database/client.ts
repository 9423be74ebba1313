/**
 * The driver behind a Drizzle database, for what Drizzle has no way to say: a connection of one's own, a named statement.
 */
import type { SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Executor } from './executor.js';
import type { Row } from './rows.js';

/** Drizzle's `$client`; a transaction has none. */
export function clientOf(db: Executor): unknown {
  return '$client' in db ? db.$client : undefined;
}

/** Tells the app's Drizzle logger of a statement that goes past Drizzle. */
export function log(db: Executor, text: string, values: readonly unknown[]): void {
  const session: unknown = 'session' in db ? db.session : undefined;
  if (!isLogging(session)) return;
  session.logger.logQuery(text, values);
}

interface Logging {
  readonly logger: { logQuery(text: string, values: readonly unknown[]): void };
}

function isLogging(session: unknown): session is Logging {
  const logger: unknown =
    typeof session === 'object' && session !== null && 'logger' in session ? session.logger : undefined;
  return (
    typeof logger === 'object' &&
    logger !== null &&
    'logQuery' in logger &&
    typeof logger.logQuery === 'function'
  );
}

/** A statement as drivers take it. */
export interface Query {
  readonly text: string;
  readonly values: readonly unknown[];
}

export function queryOf(statement: SQL): Query {
  const known = queries.get(statement);
  if (known) return known;
  const { sql, params } = dialect.sqlToQuery(statement);
  return { text: sql, values: params };
}

/** Says what a statement is for drivers, so that nobody has to put it together. */
export function isQuery(statement: SQL, query: Query): SQL {
  queries.set(statement, query);
  return statement;
}

const queries = new WeakMap<SQL, Query>();

const dialect = new PgDialect();

/** What is used of node-postgres' Pool and Client. */
export interface PgPool {
  readonly Client: new (options: unknown) => PgClient;
  readonly options: object;
  query(query: {
    readonly name: string;
    readonly text: string;
    readonly values: readonly unknown[];
    /** For each type, what makes a value of its text. */
    readonly types: { getTypeParser(): (text: string) => unknown };
  }): Promise<{ rows: readonly Row[] }>;
}
export interface PgClient {
  readonly processID?: number;
  readonly connection?: { readonly stream?: { destroy(): void } };
  connect(): Promise<unknown>;
  query(text: string, values?: readonly unknown[]): Promise<{ rows: readonly Row[] }>;
  on(event: 'error' | 'end', listener: () => void): unknown;
  on(
    event: 'notification',
    listener: (notification: { readonly channel: string; readonly payload?: string }) => void,
  ): unknown;
  end(): Promise<void>;
}

export function isPgPool(client: unknown): client is PgPool {
  if (typeof client !== 'object' || client === null) return false;
  return (
    'Client' in client && typeof client.Client === 'function' && 'options' in client && 'totalCount' in client
  );
}

/** What is used of postgres.js. */
export interface PostgresJs {
  readonly options: { readonly prepare?: unknown };
  unsafe(text: string, parameters: readonly unknown[], options: object): Promise<PostgresJsRows>;
  end(options: { timeout: number }): Promise<void>;
}
type PostgresJsRows = readonly Row[] & { readonly state?: { readonly pid?: number } };

/** What is used of PGlite. */
export interface PGlite {
  /** Gives what ends it. */
  listen(channel: string, listener: (text: string) => void): Promise<() => Promise<void>>;
}

export function isPGlite(client: unknown): client is PGlite {
  if (typeof client !== 'object' || client === null) return false;
  return 'listen' in client && typeof client.listen === 'function' && 'waitReady' in client;
}

export function isPostgresJs(client: unknown): client is PostgresJs {
  return typeof client === 'function' && 'options' in client && 'unsafe' in client && 'reserve' in client;
}
