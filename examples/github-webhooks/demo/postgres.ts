/**
 * A database for one run of the demo, with the app's migrations: on the server of `DATABASE_URL`, or on an embedded
 * Postgres of its own.
 */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import { asAdmin, startEmbedded, startPostgres } from '../../../test/support/postgres/index.js';
import { connect } from '../database.js';

export interface Database {
  readonly url: string;
  /** What it runs on, for the reader. */
  readonly server: string;
  /** Drops the database, and stops the server where it was started here. */
  stop(): Promise<void>;
}

export async function startDatabase(): Promise<Database> {
  const server = process.env['DATABASE_URL'] ? await startPostgres() : await startEmbedded();
  const name = `github_webhooks_demo_${randomBytes(4).toString('hex')}`;
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  async function stop(): Promise<void> {
    try {
      if (server.source === 'DATABASE_URL') {
        await asAdmin(server.url, (sql) => sql`drop database if exists ${sql(name)} with (force)`);
      }
    } finally {
      await server.stop();
    }
  }
  try {
    await asAdmin(server.url, (sql) => sql`create database ${sql(name)}`);
    await applyMigrations(url.href);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: url.href, server: `Postgres ${server.version} (${server.source}), database ${name}`, stop };
}

/** What an app runs at every deploy. */
export async function applyMigrations(url: string): Promise<void> {
  const db = connect(url, 'migrations');
  try {
    await migrate(db, { migrationsFolder: fileURLToPath(new URL('../drizzle', import.meta.url)) });
  } finally {
    await db.$client.end();
  }
}
