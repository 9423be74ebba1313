/**
 * Drizzle over each driver we support, for tests that must hold on all of them.
 */
import type { PGlite } from '@electric-sql/pglite';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { PgliteDatabase } from 'drizzle-orm/pglite';
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type { Pool } from 'pg';
import type { Sql } from 'postgres';
import { readMigrations } from './migrations.js';

export type DriverDatabases = {
  'postgres.js': PostgresJsDatabase & { $client: Sql };
  'node-postgres': NodePgDatabase & { $client: Pool };
  pglite: PgliteDatabase & { $client: PGlite };
};

export type Driver = keyof DriverDatabases;
export const drivers = ['postgres.js', 'node-postgres', 'pglite'] as const satisfies readonly Driver[];
/** Those that several clients can use at once, over a network that breaks. */
export const networkedDrivers = ['postgres.js', 'node-postgres'] as const satisfies readonly Driver[];

export type Connected<Database> = { db: Database; end(): Promise<void> };

/**
 * Connects to the database at `url`. PGlite has no server: it gives the test file's one in-memory database,
 * migrated and with empty tables, and `url` is not used. `options` are those of `drizzle(…)` beside the client; each
 * generation has its own.
 */
export function connect<Name extends Driver>(
  driver: Name,
  url: string,
  options: object = {},
): Promise<Connected<DriverDatabases[Name]>> {
  return connectors[driver](url, options);
}

type Connectors = {
  [Name in Driver]: (url: string, options: object) => Promise<Connected<DriverDatabases[Name]>>;
};

const connectors: Connectors = {
  'postgres.js': async (url, options) => {
    const { default: postgres } = await import('postgres');
    const { drizzle } = await import('drizzle-orm/postgres-js');
    const client = postgres(url, {
      onnotice: () => {},
      connection: { application_name: 'test postgres.js' },
    });
    return { db: drizzle({ client, ...options }), end: () => client.end({ timeout: 5 }) };
  },
  'node-postgres': async (url, options) => {
    const { default: pg } = await import('pg');
    const { drizzle } = await import('drizzle-orm/node-postgres');
    const client = new pg.Pool({ connectionString: url, application_name: 'test node-postgres' });
    // A server that goes away would otherwise end the process through the idle clients' error events.
    client.on('error', () => {});
    return { db: drizzle({ client, ...options }), end: () => client.end() };
  },
  pglite: async (_url, options) => {
    const { drizzle } = await import('drizzle-orm/pglite');
    const client = await sharedPglite();
    await emptyTables(client);
    // It goes with the process of the test file; closing it would cost the next caller another start.
    return { db: drizzle({ client, ...options }), end: async () => {} };
  },
};

let pglite: Promise<PGlite> | undefined;

/** One a test file, since it takes seconds to start. */
function sharedPglite(): Promise<PGlite> {
  pglite ??= (async () => {
    const { PGlite } = await import('@electric-sql/pglite');
    const client = await PGlite.create();
    for (const migration of await readMigrations()) await client.exec(migration);
    return client;
  })();
  return pglite;
}

async function emptyTables(client: PGlite): Promise<void> {
  const { rows } = await client.query<{ tables: string | null }>(
    `select string_agg(format('%I.%I', schemaname, tablename), ', ') as tables
     from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const tables = rows[0]?.tables;
  if (tables) await client.exec(`truncate ${tables} restart identity cascade`);
}
