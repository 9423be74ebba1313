/**
 * Named statements: Postgres parses and plans each once for a connection instead of every time, which is half of what a
 * small claim costs it, and postgres.js saves a round trip. Drizzle sends none, so these go to its driver.
 *
 * Only for connections straight to Postgres: behind a pooler in transaction mode, the name would be on another one.
 *
 * A kept plan is as old as the table was when it was made, and in a table of a few pages the best plan reads them all.
 * So a statement has a name for each size of the table.
 */
import { createHash } from 'node:crypto';
import type { SQL } from 'drizzle-orm';
import { clientOf, isPgPool, isPostgresJs, log, type PgPool, queryOf } from './client.js';
import type { Executor } from './executor.js';
import { sqlState } from './sqlstate.js';

/**
 * Sizes of the table, each with what its statements end in. In a large one, no plan for a few rows reads it all, whatever
 * the statistics say; in one of some pages, none reads it all for each queue; below, that costs next to nothing.
 */
const sizes = [
  { fromBytes: 1_048_576, ending: '\n-- in a large table' },
  { fromBytes: 131_072, ending: '\n-- in a table of some pages' },
  { fromBytes: 0, ending: '' },
];
/** After so many faults of names there are none. */
const mostFaults = 10;

export interface NamedStatements extends Executor {
  /** How large the table is now. */
  tableHas(bytes: number): void;
}

/**
 * Sends what it is given as named statements of the database's driver; undefined on a driver that has none, and where
 * the app said `prepare: false` to postgres.js. Errors come as the driver throws them. A statement whose name does not work
 * goes through Drizzle, and all get other names.
 */
export function namedStatements(db: Executor): NamedStatements | undefined {
  const run = runner(clientOf(db));
  if (!run) return undefined;
  let faults = 0;
  let ending = '';
  return {
    tableHas(bytes) {
      ending = sizes.find(({ fromBytes }) => bytes >= fromBytes)?.ending ?? '';
    },
    async execute(statement: SQL) {
      if (faults >= mostFaults) return db.execute(statement);
      const { text, values } = queryOf(statement);
      log(db, text, values);
      try {
        return await run(text + ending, values, faults);
      } catch (error) {
        if (!isNameFault(error)) throw error;
        faults++;
        return db.execute(statement);
      }
    },
    transaction: (...args) => db.transaction(...args),
  };
}

function runner(
  client: unknown,
): ((text: string, values: readonly unknown[], faults: number) => PromiseLike<unknown>) | undefined {
  if (isPostgresJs(client)) {
    if (client.options.prepare === false) return undefined;
    return (text, values) => client.unsafe(text, values, { prepare: true, onexecute: nothingBehindIt });
  }
  if (isPgPool(client) && !hasBinaryAnswers(client)) {
    return (text, values, faults) => client.query({ name: nameOf(text, faults), text, values, types });
  }
  return undefined;
}

/**
 * postgres.js prepares a statement again whose name is gone, but what it had sent behind that in the meantime then gets
 * the wrong answers, or none: the connection stands still for ever.
 */
function nothingBehindIt(): boolean {
  return false;
}

/** As with Drizzle, the pool's own parsers do not get our answers: they stay text, which is enough. */
const types = { getTypeParser: () => String };

function hasBinaryAnswers({ options }: PgPool): boolean {
  return 'binary' in options && options.binary === true;
}

const names = new Map<string, string>();

/** One text has one name until that fails: node-postgres refuses two texts under one. */
function nameOf(text: string, faults: number): string {
  const known = names.get(`${faults} ${text}`);
  if (known) return known;
  const name = `drizzle_queue_${createHash('sha256').update(`${faults} ${text}`).digest('hex').slice(0, 32)}`;
  names.set(`${faults} ${text}`, name);
  return name;
}

/**
 * No such name (somebody deallocated it, or it is another connection), a name that is taken, or a plan whose columns
 * changed their types. Postgres says each before it runs anything.
 */
function isNameFault(error: unknown): boolean {
  return /^(?:26000|42P05|0A000)$/.test(sqlState(error) ?? '');
}
