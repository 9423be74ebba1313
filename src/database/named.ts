/**
 * Named statements: Postgres parses and plans each once for a connection instead of every time, which is half of what a
 * small claim costs it, and postgres.js saves a round trip. Drizzle sends none, so these go to its driver.
 *
 * Only for connections straight to Postgres: behind a pooler in transaction mode, the name would be on another one.
 *
 * A kept plan is as old as the table was when it was made, and in a table of a few pages the best plan reads them all.
 * So a statement has one name while the table is small and another while it is large.
 */
import { createHash } from 'node:crypto';
import type { SQL } from 'drizzle-orm';
import { clientOf, isPgPool, isPostgresJs, log, queryOf } from './client.js';
import type { Executor } from './executor.js';
import { sqlState } from './sqlstate.js';

/** From this size on, no plan for a few rows reads the whole table, whatever the statistics say. */
const largeTableBytes = 2 * 2 ** 20;

export interface NamedStatements extends Executor {
  /** How large the table is now. */
  tableHas(bytes: number): void;
}

/**
 * Sends what it is given as named statements of the database's driver; undefined on a driver that has none, and where
 * the app said `prepare: false` to postgres.js. Errors come as the driver throws them. When a name does not work after
 * all, that statement and all later ones go through Drizzle.
 */
export function namedStatements(db: Executor): NamedStatements | undefined {
  const run = runner(clientOf(db));
  if (!run) return undefined;
  let works = true;
  let ending = '';
  return {
    tableHas(bytes) {
      // postgres.js goes by the text.
      ending = bytes >= largeTableBytes ? '\n-- in a large table' : '';
    },
    async execute(statement: SQL) {
      if (!works) return db.execute(statement);
      const { text, values } = queryOf(statement);
      log(db, text, values);
      try {
        return await run(text + ending, values);
      } catch (error) {
        if (!isNameFault(error)) throw error;
        works = false;
        return db.execute(statement);
      }
    },
    transaction: (...args) => db.transaction(...args),
  };
}

function runner(
  client: unknown,
): ((text: string, values: readonly unknown[]) => PromiseLike<unknown>) | undefined {
  if (isPostgresJs(client)) {
    if (client.options.prepare === false) return undefined;
    return (text, values) => client.unsafe(text, values, { prepare: true });
  }
  if (isPgPool(client)) return (text, values) => client.query({ name: nameOf(text), text, values });
  return undefined;
}

const names = new Map<string, string>();

/** One text has one name: node-postgres refuses two texts under one. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known) return known;
  const name = `drizzle_queue_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
  names.set(text, name);
  return name;
}

/**
 * No such name (somebody deallocated it, or it is another connection), a name that is taken, or a plan whose columns
 * changed their types. Postgres says each before it runs anything.
 */
function isNameFault(error: unknown): boolean {
  return /^(?:26000|42P05|0A000)$/.test(sqlState(error) ?? '');
}
