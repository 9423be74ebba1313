/**
 * The migrations that drizzle-kit generated from our schema, for every database the tests use.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const migrationsFolder = fileURLToPath(new URL('../../drizzle', import.meta.url));

/**
 * @throws Error when nothing was generated yet: without it, tests would only say that `jobs` does not exist.
 */
export function requireMigrations(): void {
  if (existsSync(join(migrationsFolder, 'meta', '_journal.json'))) return;
  throw new Error(`No migrations in ${migrationsFolder}: run "npx drizzle-kit generate" first.`);
}

/**
 * Their SQL in order, for where Drizzle's migrator does not work: 1.0 refuses the folder layout of
 * drizzle-kit 0.31.
 */
export async function readMigrations(): Promise<string[]> {
  const files = (await readdir(migrationsFolder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(files.map((name) => readFile(join(migrationsFolder, name), 'utf8')));
}
