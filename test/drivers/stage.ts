/** One driver with a database of its own, for the length of a `describe`. */
import { type SQL, sql } from 'drizzle-orm';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll } from 'vitest';
import { type Row, rows } from '../../src/database/rows.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { type Connected, connect, type Driver } from '../support/drivers.js';

/** What the drivers' databases have in common. */
export type AnyDatabase = PgDatabase<PgQueryResultHKT>;

export interface UsedDriver {
  /** For clients of a test's own; PGlite has none. */
  readonly url: string;
  readonly db: AnyDatabase;
  /** For what a test looks up. */
  read(query: SQL): Promise<readonly Row[]>;
  /** Ids go on after this one. */
  startIdsAfter(id: number): Promise<void>;
}

/** `options` are those of `drizzle(…)` beside the client. */
export function useDriver(driver: Driver, options: object = {}): UsedDriver {
  let database: TestDatabase | undefined;
  let connected: Connected<AnyDatabase> | undefined;

  beforeAll(async () => {
    database = await createDatabase();
    connected = await connect(driver, database.url, options);
  });
  afterAll(async () => {
    try {
      await connected?.end();
      await database?.expectNoConnections();
    } finally {
      await database?.drop();
    }
  });

  const ready = (): AnyDatabase => {
    if (!connected) throw new Error('useDriver() has no database before beforeAll: read it inside a test.');
    return connected.db;
  };
  return {
    get url() {
      return database?.url ?? '';
    },
    get db() {
      return ready();
    },
    read: (query) => rows(ready(), query),
    async startIdsAfter(id) {
      await rows(ready(), sql`select setval(pg_get_serial_sequence('jobs', 'id'), ${id}::bigint)`);
    },
  };
}
