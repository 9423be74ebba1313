/**
 * `drizzle-queue migration`: puts the SQL that drizzle-kit cannot express into a custom migration of the app, which the
 * app's own drizzle-kit makes, so that journal, snapshot and order are its business.
 */
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { quotedName } from '../sql/storage.js';
import { CliError, reason } from './cli-error.js';
import { customParts, customSql, hasCustomSql, jobsTable } from './custom-sql.js';
import { loadDrizzleConfig } from './drizzle-config.js';
import { findDrizzleKit, generateCustom } from './drizzle-kit.js';
import { type Migration, readMigrationsFolder } from './migrations-folder.js';
import { jobsTablesAfter } from './snapshots.js';

export interface MigrationRequest {
  /** The config of drizzle-kit; found in the working directory when not named. */
  readonly config?: string;
  readonly schema: string;
  readonly name: string;
  /** Whether the trigger belongs to it that tells workers of plain inserts. */
  readonly trigger: boolean;
}

/** @returns what was done, as a text for the user. @throws CliError when nothing was written. */
export async function addMigration({
  config: named,
  schema,
  name,
  trigger,
}: MigrationRequest): Promise<string> {
  const config = await loadDrizzleConfig(named);
  const before = readMigrationsFolder(config.out);
  const since = before.slice(createdAt(before, schema, config.out));
  const found = customParts({ trigger }).map((part) => ({
    part,
    migration: since.find(({ sql }) => hasCustomSql(sql, part, schema)),
  }));
  const missing = found.filter(({ migration }) => !migration).map(({ part }) => part);
  if (missing.length === 0) {
    const files = new Set(found.flatMap(({ migration }) => (migration ? [shown(migration)] : [])));
    return `Nothing to do: ${[...files].join(' and ')} ${files.size === 1 ? 'has' : 'have'} it.`;
  }

  const kit = findDrizzleKit();
  await secondAfter(before.at(-1)?.when);
  const { exitCode, output } = await generateCustom(kit, config.file, name);
  const known = new Set(before.map(({ file }) => file));
  const [made, ...others] = readMigrationsFolder(config.out).filter(({ file }) => !known.has(file));
  if (exitCode !== 0 || !made || others.length > 0) {
    const result = made ? `left ${[made, ...others].map(shown).join(', ')}` : 'made no migration';
    throw new CliError(
      `"drizzle-kit generate --custom" ended with ${exitCode} and ${result}. It said:\n\n${output}`,
    );
  }
  const text = customSql(missing, schema);
  write(made, text);
  return `Wrote ${shown(made)}:\n\n${text}\n"drizzle-kit migrate" applies it.`;
}

/**
 * Waits until the second of the last migration is over. drizzle-kit 1.0 names migrations by the second, and its `up`
 * refuses those of 0.31 when two of one second sort the wrong way.
 */
async function secondAfter(lastMs = 0): Promise<void> {
  const waitMs = (Math.floor(lastMs / 1000) + 1) * 1000 - Date.now();
  if (waitMs > 0 && waitMs < 5000) await delay(waitMs); // longer: made by a clock that is ahead of this one
}

/** The place of the migration that made the jobs table: what earlier ones did went to a table that was dropped. */
function createdAt(migrations: readonly Migration[], schema: string, out: string): number {
  const tables = jobsTablesAfter(migrations.map(({ snapshot }) => snapshot));
  const table = JSON.stringify([schema, jobsTable]);
  if (tables.at(-1)?.has(table)) return tables.findLastIndex((names) => !names.has(table)) + 1;

  const elsewhere = [...(tables.at(-1) ?? [])].map((name): string => JSON.parse(name)[0]);
  throw new CliError(
    `No migration in ${relative('', out) || '.'} creates ${quotedName(schema, jobsTable)}, the table of drizzle-queue. ${
      elsewhere.length > 0
        ? `There is one in another schema: use ${elsewhere.map((other) => `--schema ${other}`).join(' or ')}.`
        : `Export it from your Drizzle schema and run "drizzle-kit generate" first; if it is to be in a Postgres schema of its own, name that with --schema.`
    }`,
  );
}

function write(migration: Migration, sql: string): void {
  try {
    writeFileSync(migration.file, sql);
  } catch (error) {
    throw new CliError(
      `drizzle-kit made ${shown(migration)}, which cannot be written (${reason(error)}). Put this into it:\n\n${sql}`,
    );
  }
}

const shown = ({ file }: Migration) => relative('', file);
