/**
 * The databases of one test run on a server: a migrated template and its clones, all with the run's name in
 * theirs, so that runs at the same time on one server stay apart.
 */
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { migrationsFolder, requireMigrations } from './migrations.js';
import { asAdmin } from './postgres/index.js';

export const templateName = (run: string) => `dq_template_${run}`;
export const cloneName = (run: string, clone: string) => `dq_${run}_${clone}`;

/** The connection string of another database on the same server. */
export function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

export async function createTemplate(adminUrl: string, run: string): Promise<void> {
  requireMigrations();
  const name = templateName(run);
  await asAdmin(adminUrl, (sql) => sql`create database ${sql(name)}`);
  const client = postgres(withDatabase(adminUrl, name), { max: 1, onnotice: () => {} });
  try {
    await migrate(drizzle({ client }), { migrationsFolder });
  } finally {
    await client.end();
  }
  // A database that somebody is connected to cannot be cloned.
  await asAdmin(
    adminUrl,
    (sql) => sql`alter database ${sql(name)} with is_template true allow_connections false`,
  );
}

export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await asAdmin(adminUrl, (sql) => sql`drop database if exists ${sql(name)} with (force)`);
}

/** Drops the template and whatever clones killed test files have left. */
export async function dropRun(adminUrl: string, run: string): Promise<void> {
  await asAdmin(adminUrl, async (sql) => {
    const [template, clones] = [templateName(run), cloneName(run, '')];
    const found = await sql<{ name: string }[]>`
      select datname as name from pg_database where datname = ${template} or starts_with(datname, ${clones})`;
    for (const { name } of found) {
      if (name === template) await sql`alter database ${sql(name)} with is_template false`;
      await sql`drop database ${sql(name)} with (force)`;
    }
  });
}
