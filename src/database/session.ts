/**
 * A connection of its own beside the app's pool, for what belongs to one session: a lock that tells whether the process
 * lives, and LISTEN. Found through Drizzle's `$client`, with the pool's own options. PGlite and HTTP drivers have none.
 */
import type { SQL } from 'drizzle-orm';
import { clientOf, isPgPool, isPostgresJs, type PgPool, type PostgresJs, queryOf } from './client.js';
import type { Executor } from './executor.js';
import type { Row } from './rows.js';
import { withTimeLimit } from './time-limit.js';

/** One connection to Postgres, which is not made again by itself. */
export interface Session extends Pick<Executor, 'execute'> {
  execute(query: SQL): Promise<readonly Row[]>;
  /** The backend's process id, as it was told when the connection was made. */
  readonly pid: number | undefined;
  /** Calls the listener with each notification that the connection hears, from now on; one listener. */
  onNotification(listener: NotificationListener): void;
  /** Resolves when the connection is gone, whoever ended it. */
  readonly lost: Promise<void>;
  end(): void;
}

/** How long a server may take to take a connection. */
const connectMs = 5_000;

export type NotificationListener = (channel: string, text: string) => void;

/** How a session is opened on the database's driver; undefined where it has none. */
export function sessionOpener(db: Executor): (() => Promise<Session>) | undefined {
  const client = clientOf(db);
  if (isPgPool(client)) return () => openPg(client);
  if (isPostgresJs(client)) return () => openPostgresJs(client);
  return undefined;
}

async function openPg(pool: PgPool): Promise<Session> {
  const client = new pool.Client(pool.options); // the object itself: its password is not enumerable
  const lost = new Promise<void>((resolve) => {
    client.on('error', () => resolve()); // without a listener it would end the process
    client.on('end', () => resolve());
  });
  const inTurn = createTurns();
  let heard: NotificationListener = () => {};
  client.on('notification', ({ channel, payload = '' }) => heard(channel, payload));
  const end = (): void => {
    client.end().catch(() => {});
    // It says goodbye and waits for the server to close, which one that is silent never does.
    const timer = setTimeout(() => client.connection?.stream?.destroy(), 1_000).unref();
    void lost.then(() => clearTimeout(timer)); // else it would keep the stopped worker for its second
  };
  try {
    await withTimeLimit(client.connect(), connectMs);
  } catch (error) {
    end();
    throw error;
  }
  return {
    execute(query) {
      const { text, values } = queryOf(query);
      return inTurn(async () => (await client.query(text, values)).rows);
    },
    pid: client.processID,
    onNotification(listener) {
      heard = listener;
    },
    lost,
    end,
  };
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
  let heard: NotificationListener = () => {};
  const client = connect({
    ...pool.options,
    shared: { retries: 0, typeArrayMap: {} }, // of its own, or both would count their failures together
    max: 1,
    idle_timeout: null,
    max_lifetime: null,
    connect_timeout: connectMs / 1_000,
    fetch_types: false,
    onnotify: (channel: string, text: string) => heard(channel, text),
    onclose() {
      gone = true; // it would connect again for the next query, as another session
      lose();
    },
  });
  const end = (): void => {
    gone = true;
    client.end({ timeout: 0 }).catch(() => {});
  };
  const inTurn = createTurns();
  function run(text: string, parameters: readonly unknown[]): ReturnType<PostgresJs['unsafe']> {
    return inTurn(async () => {
      if (gone) throw new Error('The session is gone.');
      return client.unsafe(text, parameters, { prepare: false });
    });
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
      const { text, values } = queryOf(query);
      return run(text, values);
    },
    pid,
    onNotification(listener) {
      heard = listener;
    },
    lost,
    end,
  };
}

/**
 * Runs one after another what it is given. Neither driver is to have two statements of a session at once: node-postgres
 * warns of it, and postgres.js, when it is ended, sends what waits over a new connection, which nobody ever closes.
 */
function createTurns(): <Answer>(run: () => Promise<Answer>) => Promise<Answer> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const answer = last.then(run);
    last = answer.catch(() => {});
    return answer;
  };
}
