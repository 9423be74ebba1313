/**
 * Drizzle over clients that connect again at once when a broken network is mended: postgres.js by itself waits longer
 * and longer, up to 20 s.
 */
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import type { Database } from '../../src/database/executor.js';

export type Connection = { db: Database; end(): Promise<void> };

export const connectAgain = {
  'postgres.js': (url: string): Connection => {
    const client = postgres(url, {
      backoff: () => 0.05,
      // Asked for on every new connection, and nobody catches it when that one breaks in this moment.
      fetch_types: false,
      connection: { application_name: 'test again' },
    });
    return { db: overPostgresJs({ client }), end: () => client.end({ timeout: 1 }) };
  },
  'node-postgres': (url: string): Connection => {
    const client = new pg.Pool({ connectionString: url, application_name: 'test again' });
    // A worker listens only while it runs, and these tests break connections after its end as well.
    client.on('error', () => {});
    return { db: overPg({ client }), end: () => client.end() };
  },
} as const;
