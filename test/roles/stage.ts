/**
 * A database with real roles that can log in: names of their own in each test file, since roles belong to the whole
 * server, and dropped after its last test. Nobody but they may use the schema of the jobs table.
 */
import { randomBytes } from 'node:crypto';
import { pgSchema } from 'drizzle-orm/pg-core';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres, { type Sql } from 'postgres';
import { afterAll, beforeAll, inject } from 'vitest';
import type { QueueRole } from '../../src/check/needs.js';
import { type TableName, tableName } from '../../src/database/table-name.js';
import { type QueueTables, queueTables } from '../../src/database/tables.js';
import { useDatabase } from '../support/database.js';
import { asAdmin } from '../support/postgres/index.js';
import { readmeNames } from './readme.js';

/** The roles of the README, and one to own the table. */
export type Actor = QueueRole | 'owner';
const actors: readonly Actor[] = ['enqueuer', 'worker', 'reader', 'operator', 'owner'];

export interface Roles {
  /** As a superuser, in the schema of the table. */
  readonly sql: Sql;
  readonly tables: QueueTables;
  readonly table: TableName;
  /** A connection of that role. */
  as(actor: Actor): PostgresJsDatabase & { $client: Sql };
  /** What the role is called in this run. */
  name(actor: Actor): string;
  /** Runs SQL of the README as a superuser: for the schema and the roles of this run instead of those it names. */
  run(readmeSql: string): Promise<unknown>;
}

/** Call it at the top of a test file or of a `describe`. */
export function useRoles(schema = 'public'): Roles {
  const suffix = randomBytes(4).toString('hex');
  const password = randomBytes(12).toString('hex');
  const { url: adminUrl, run } = inject('postgres');
  const roleName = (actor: Actor) => `dq_${run}_${suffix}_${actor}`;

  // Before the database, so after it at the end: a role that a database still names cannot be dropped.
  beforeAll(() => createRoles(adminUrl, actors.map(roleName), password));
  afterAll(() => dropRoles(adminUrl, actors.map(roleName)));

  const database = useDatabase();
  const tables = queueTables(schema === 'public' ? {} : { schema: pgSchema(schema) });
  const clients = new Map<Actor | 'superuser', Sql>();

  beforeAll(async () => {
    const { sql } = database;
    if (schema !== 'public') {
      await sql`create schema ${sql(schema)}`;
      await sql`create table ${sql(schema)}.jobs (like public.jobs including all)`;
      await sql`create table ${sql(schema)}.job_throttle (like public.job_throttle including all)`;
      await sql`create table ${sql(schema)}.job_limits (like public.job_limits including all)`;
    }
    await sql`revoke usage on schema ${sql(schema)} from public`;
    const options = { max: 2, onnotice: () => {} };
    const connection = { application_name: 'test roles', search_path: schema };
    clients.set('superuser', postgres(database.url, { ...options, connection }));
    for (const actor of actors) {
      const url = Object.assign(new URL(database.url), { username: roleName(actor), password });
      clients.set(actor, postgres(url.href, options));
    }
  });
  afterAll(() => Promise.all([...clients.values()].map((client) => client.end({ timeout: 5 }))));

  const client = (of: Actor | 'superuser'): Sql => {
    const found = clients.get(of);
    if (!found) throw new Error('useRoles() has no roles before beforeAll: read it inside a hook or test.');
    return found;
  };
  const actorOf = new Map(
    Object.entries(readmeNames).map(([role, inReadme]) => [inReadme, role as QueueRole]),
  );
  return {
    get sql() {
      return client('superuser');
    },
    tables,
    table: tableName(tables.jobs),
    as: (actor) => drizzle({ client: client(actor) }),
    name: roleName,
    run(readmeSql) {
      const here = readmeSql
        .replace(/\bpublic\b/g, `"${schema}"`)
        .replace(/\b(to|from|role) (\w+)/g, (all, word: string, role: string) => {
          const actor = actorOf.get(role);
          return actor ? `${word} ${roleName(actor)}` : all;
        });
      return client('superuser').unsafe(here);
    },
  };
}

async function createRoles(adminUrl: string, names: readonly string[], password: string): Promise<void> {
  await asAdmin(adminUrl, async (sql) => {
    const [user] = await sql<{ rolsuper: boolean }[]>`
      select rolsuper from pg_roles where rolname = current_user`;
    if (!user?.rolsuper) {
      throw new Error(
        'These tests make roles, give them BYPASSRLS and a table: the user of DATABASE_URL has to be a superuser.',
      );
    }
    for (const name of names)
      await sql`create role ${sql(name)} login password ${sql.unsafe(`'${password}'`)}`;
  });
}

async function dropRoles(adminUrl: string, names: readonly string[]): Promise<void> {
  await asAdmin(adminUrl, async (sql) => {
    for (const name of names) await sql`drop role if exists ${sql(name)}`;
  });
}
