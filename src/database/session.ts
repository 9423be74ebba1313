/**
 * A connection of its own beside the app's pool, for what belongs to one session: a lock that tells whether the process
 * lives. Found through Drizzle's `$client`, with the pool's own options. PGlite and HTTP drivers have none.
 */
import type { SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Executor } from './executor.js';
import type { Row } from './rows.js';

/** One connection to Postgres, which is not made again by itself. */
export interface Session extends Pick<Executor, 'execute'> {
  execute(query: SQL): Promise<readonly Row[]>;
  /** The backend's process id, as it was told when the connection was made. */
  readonly pid: number | undefined;
  /** Resolves when the connection is gone, whoever ended it. */
  readonly lost: Promise<void>;
  end(): void;
}

/** How a session is opened on the database's driver; undefined where it has none. */
export function sessionOpener(db: Executor): (() => Promise<Session>) | undefined {
  const client: unknown = '$client' in db ? db.$client : undefined;
  if (isPgPool(client)) return () => openPg(client);
  if (isPostgresJs(client)) return () => openPostgresJs(client);
  return undefined;
}

const dialect = new PgDialect();

// What is used of node-postgres' Pool and Client.
interface PgPool {
  readonly Client: new (options: unknown) => PgClient;
  readonly options: object;
}
interface PgClient {
  readonly processID?: number;
  connect(): Promise<unknown>;
  query(text: string, values?: readonly unknown[]): Promise<{ rows: readonly Row[] }>;
  on(event: 'error' | 'end', listener: () => void): unknown;
  end(): Promise<void>;
}

function isPgPool(client: unknown): client is PgPool {
  if (typeof client !== 'object' || client === null) return false;
  return (
    'Client' in client && typeof client.Client === 'function' && 'options' in client && 'totalCount' in client
  );
}

async function openPg(pool: PgPool): Promise<Session> {
  const client = new pool.Client(pool.options); // the object itself: its password is not enumerable
  const lost = new Promise<void>((resolve) => {
    client.on('error', () => resolve()); // without a listener it would end the process
    client.on('end', () => resolve());
  });
  const end = (): void => void client.end().catch(() => {});
  try {
    await client.connect();
  } catch (error) {
    end();
    throw error;
  }
  return {
    async execute(query) {
      const { sql, params } = dialect.sqlToQuery(query);
      return (await client.query(sql, params)).rows;
    },
    pid: client.processID,
    lost,
    end,
  };
}

// What is used of postgres.js.
interface PostgresJs {
  readonly options: object;
  unsafe(text: string, parameters: readonly unknown[], options: object): PromiseLike<PostgresJsRows>;
  end(options: { timeout: number }): Promise<void>;
}

type PostgresJsRows = readonly Row[] & { readonly state?: { readonly pid?: number } };

function isPostgresJs(client: unknown): client is PostgresJs {
  return typeof client === 'function' && 'options' in client && 'unsafe' in client && 'reserve' in client;
}

/**
 * As postgres.js itself does for its `listen`: another client of one connection with the same options. The name of the
 * module is a variable, so that bundlers of apps without postgres.js do not look for it.
 */
async function openPostgresJs(pool: PostgresJs): Promise<Session> {
  const module = 'postgres';
  const { default: connect }: { default: (options: object) => PostgresJs } = await import(module);
  let lose = (): void => {};
  const lost = new Promise<void>((resolve) => {
    lose = resolve;
  });
  let gone = false;
  const client = connect({
    ...pool.options,
    shared: { retries: 0, typeArrayMap: {} }, // of its own, or both would count their failures together
    max: 1,
    idle_timeout: null,
    max_lifetime: null,
    connect_timeout: 5,
    fetch_types: false,
    onclose() {
      gone = true; // it would connect again for the next query, as another session
      lose();
    },
  });
  const end = (): void => void client.end({ timeout: 0 }).catch(() => {});
  async function run(text: string, parameters: readonly unknown[]): Promise<PostgresJsRows> {
    if (gone) throw new Error('The session is gone.');
    return client.unsafe(text, parameters, { prepare: false });
  }
  let pid: number | undefined;
  try {
    pid = (await run('select 1', [])).state?.pid;
  } catch (error) {
    end();
    throw error;
  }
  return {
    execute(query) {
      const { sql, params } = dialect.sqlToQuery(query);
      return run(sql, params);
    },
    pid,
    lost,
    end,
  };
}
