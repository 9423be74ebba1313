/**
 * A test file's own database behind a PgBouncer of its own in transaction mode, and the clients that an app may have
 * in front of it.
 */
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll } from 'vitest';
import type { AnyDatabase } from '../drivers/stage.js';
import { type UsedDatabase, useDatabase } from '../support/database.js';
import type { Connected } from '../support/drivers.js';
import { type PgBouncer, type PgBouncerOptions, startPgBouncer } from '../support/postgres/pgbouncer.js';
import { until } from '../support/until.js';

/** How many connections each client may have: far more than the pooler has to the server. */
export const callers = 40;

/** By what Drizzle is given. postgres.js as it comes is not among them: `prepared.test.ts` says why. */
export const clients = ['postgres.js with prepare: false', 'node-postgres'] as const;
export type ClientName = (typeof clients)[number];

export interface UsedPooler {
  readonly pooler: PgBouncer;
  /** The same database without the pooler. */
  readonly direct: UsedDatabase;
  /** Drizzle over a client with many connections to the pooler, there from `beforeAll` on. */
  db(client: ClientName): AnyDatabase;
}

export type PoolerOptions = PgBouncerOptions & {
  /** False where connections break: postgres.js asks each new one for its types, and lets nobody catch that error. */
  fetchTypes?: boolean;
};

/** Called at the top of a test file, before anything whose `afterAll` needs the clients. */
export function usePooler({ fetchTypes = true, ...options }: PoolerOptions = {}): UsedPooler {
  const direct = useDatabase();
  let pooler: PgBouncer | undefined;
  const connected = new Map<ClientName, Connected<AnyDatabase>>();

  beforeAll(async () => {
    pooler = await startPgBouncer(direct.url, options);
    for (const client of clients) connected.set(client, connectors[client](pooler.url, fetchTypes));
  });
  afterAll(async () => {
    await Promise.all([...connected.values()].map(({ end }) => end()));
    await pooler?.stop();
  });

  const ready = <Value>(value: Value | undefined): Value => {
    if (value === undefined) throw new Error('There is no pooler before beforeAll: read it inside a test.');
    return value;
  };
  return {
    direct,
    get pooler() {
      return ready(pooler);
    },
    db: (client) => ready(connected.get(client)).db,
  };
}

/** Connects to a pooler; without `fetchTypes` where its connections break, see {@link PoolerOptions}. */
export const connectors: Record<ClientName, (url: string, fetchTypes: boolean) => Connected<AnyDatabase>> = {
  'postgres.js with prepare: false': (url, fetch_types) => {
    const client = postgres(url, {
      prepare: false,
      max: callers,
      fetch_types,
      // By itself it waits longer and longer, up to 20 s, before it connects again.
      backoff: () => 0.05,
      onnotice: () => {},
    });
    return { db: overPostgresJs({ client }), end: () => client.end({ timeout: 1 }) };
  },
  'node-postgres': (url) => {
    const client = new pg.Pool({ connectionString: url, max: callers });
    // Connections break here while no worker listens to the pool.
    client.on('error', () => {});
    return { db: overPg({ client }), end: () => client.end() };
  },
};

/** Until a statement waits for a connection to the server. */
export async function untilOneWaits(pooler: PgBouncer): Promise<void> {
  const waits = async () =>
    (await pooler.command('SHOW POOLS')).some(({ cl_waiting }) => Number(cl_waiting) > 0);
  await until(waits, { what: 'a statement to wait for the pooler' });
}

/**
 * Until nobody is in the middle of a login. PgBouncer crashes when a KILL meets a client there (pgbouncer/pgbouncer#1401),
 * and a PAUSE that meets one of its own connections to the server has it refuse statements for `server_login_retry`.
 */
export async function untilNobodyConnects(pooler: PgBouncer): Promise<void> {
  const clients = async () =>
    (await pooler.command('SHOW LISTS')).find(({ list }) => list === 'login_clients');
  const servers = async () =>
    (await pooler.command('SHOW POOLS')).filter(({ sv_login }) => Number(sv_login) > 0);
  await until(async () => Number((await clients())?.['items']) === 0 && (await servers()).length === 0, {
    what: 'every login to end',
  });
}

/** Closes every connection to the server, so that those to come begin afresh. */
export async function reconnect(pooler: PgBouncer): Promise<void> {
  await pooler.command('RECONNECT');
  const closed = async () =>
    (await pooler.command('SHOW SERVERS')).every(({ close_needed }) => Number(close_needed) === 0);
  await until(closed, { what: 'the connections of before to be closed' });
}
