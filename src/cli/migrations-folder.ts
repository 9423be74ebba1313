/** The migrations of an app, in either layout of drizzle-kit's folder. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CliError, reason } from './cli-error.js';

export interface Migration {
  readonly file: string;
  readonly sql: string;
  /** What drizzle-kit notes of the schema after this migration; undefined when its file is gone. */
  readonly snapshot: unknown;
  /** When drizzle-kit 0.31 made it, in ms since 1970; in the other layout the name of the folder says it. */
  readonly when?: number;
}

/** In the order in which they are applied; none when the folder is not there. */
export function readMigrationsFolder(out: string): Migration[] {
  return [...journalLayout(out), ...folderLayout(out)];
}

/** drizzle-kit 0.31: `0000_name.sql`, `meta/0000_snapshot.json`, and a journal of those that count. */
function journalLayout(out: string): Migration[] {
  const journal = json(join(out, 'meta', '_journal.json'));
  if (journal === undefined) return [];
  const { entries } = journal as { entries: readonly { tag: string; when: number }[] };
  return entries.map(({ tag, when }) => ({
    ...migration(join(out, `${tag}.sql`), join(out, 'meta', `${tag.split('_')[0]}_snapshot.json`)),
    when,
  }));
}

/** drizzle-kit 1.0: `<time>_name/migration.sql` with `snapshot.json` beside it. */
function folderLayout(out: string): Migration[] {
  if (!existsSync(out)) return [];
  return readdirSync(out)
    .filter((name) => existsSync(join(out, name, 'migration.sql')))
    .sort()
    .map((name) => migration(join(out, name, 'migration.sql'), join(out, name, 'snapshot.json')));
}

function migration(file: string, snapshot: string): Migration {
  return { file, sql: existsSync(file) ? readFileSync(file, 'utf8') : '', snapshot: json(snapshot) };
}

function json(file: string): unknown {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CliError(`${file} is not JSON (${reason(error)}): restore it, drizzle-kit needs it as well.`);
  }
}
