/**
 * A database of its own for a test file: a clone of the run's migrated template. Files cannot see each
 * other's rows, and a file that leaves a connection open fails.
 */
import { randomBytes } from 'node:crypto';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres, { type Sql } from 'postgres';
import { afterAll, beforeAll, inject } from 'vitest';
import { expectNoConnections } from './connections.js';
import { asAdmin } from './postgres/index.js';
import type {} from './provided.js';
import { cloneName, dropDatabase, templateName, withDatabase } from './template.js';

export type TestDatabase = {
  readonly url: string;
  readonly name: string;
  /** Resolves when no client is connected any more. @throws Error that names the clients which stay. */
  expectNoConnections(): Promise<void>;
  /** Ends what is still connected. */
  drop(): Promise<void>;
};

/** A clone of the migrated template, or with `empty` a database without our tables. */
export async function createDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const { url: adminUrl, run } = inject('postgres');
  const name = cloneName(run, randomBytes(4).toString('hex'));
  const template = empty ? 'template0' : templateName(run);
  await asAdmin(adminUrl, (sql) => sql`create database ${sql(name)} template ${sql(template)}`);
  return {
    name,
    url: withDatabase(adminUrl, name),
    expectNoConnections: () => expectNoConnections(adminUrl, name),
    drop: () => dropDatabase(adminUrl, name),
  };
}

export type UsedDatabase = {
  readonly url: string;
  /** For what a test puts in and looks up: not Drizzle's client, which reads times as text. */
  readonly sql: Sql;
  readonly db: PostgresJsDatabase & { $client: Sql };
};

/**
 * Called at the top of a test file or of a `describe`: a fresh database for it, there from `beforeAll` on,
 * dropped after its last test. Clients that the tests make themselves have to be ended by them, or the file
 * fails.
 */
export function useDatabase(): UsedDatabase {
  let opened: (UsedDatabase & { database: TestDatabase }) | undefined;

  beforeAll(async () => {
    const database = await createDatabase();
    const connect = (application_name: string) =>
      postgres(database.url, { onnotice: () => {}, connection: { application_name } });
    opened = {
      database,
      url: database.url,
      sql: connect('test sql'),
      db: drizzle({ client: connect('test db') }),
    };
  });

  afterAll(async () => {
    if (!opened) return;
    const { database, sql, db } = opened;
    try {
      await Promise.all([sql.end({ timeout: 5 }), db.$client.end({ timeout: 5 })]);
      await database.expectNoConnections();
    } finally {
      await database.drop();
    }
  });

  const ready = () => {
    if (!opened)
      throw new Error('useDatabase() has no database before beforeAll: read it inside a hook or test.');
    return opened;
  };
  return {
    get url() {
      return ready().url;
    },
    get sql() {
      return ready().sql;
    },
    get db() {
      return ready().db;
    },
  };
}
