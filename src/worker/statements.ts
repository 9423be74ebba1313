/**
 * How a worker sends its statements: with a limit in time, at READ COMMITTED whatever the database's default is, by name
 * where that works, and with a memory of how long all of them have gone well.
 */

import type { Database, Executor } from '../database/executor.js';
import { type NamedStatements, namedStatements } from '../database/named.js';
import { isRowFault, isTableFault, sqlState } from '../database/sqlstate.js';
import { withTimeLimit } from '../database/time-limit.js';
import { allowWrites, type SessionDefaults, sessionDefaults } from '../sql/session.js';
import { errorBrief } from '../words/error-text.js';
import { QueueError } from '../words/errors.js';

export interface Statements {
  /** Runs one of the functions of `sql/`. */
  send<T>(statement: (db: Executor) => Promise<T>, options?: SendOptions<T>): Promise<T>;
  /** The connections are straight to Postgres: names stay where they were given. */
  useNames(): void;
  /** How large the table is now; a kept plan goes by it. */
  tableHas(bytes: number): void;
  /** For how many ms every statement has succeeded, without a longer gap than is usual. */
  unbrokenForMs(): number;
}

export interface SendOptions<T> {
  /** How long it may take, where that is less than for other statements. */
  readonly limitMs?: number;
  /** Gets an answer that came after the time limit. */
  readonly late?: (value: T) => void;
}

interface Limits {
  /** How long a statement may take. */
  readonly statementMs: number;
  /** No statement for so long means that this process stood still, and that its own jobs may look dead. */
  readonly gapMs: number;
}

const readOnlyTransaction = '25006';
const serializationFailure = '40001';

export function createStatements(db: Database, limits: Limits): Statements {
  let named: NamedStatements | undefined;
  let unbrokenSince: number | undefined;
  let lastSuccess = 0;
  let known: SessionDefaults | undefined;

  function succeeded(): void {
    const now = performance.now();
    if (unbrokenSince === undefined || now - lastSuccess > limits.gapMs) unbrokenSince = now;
    lastSuccess = now;
  }

  async function send<T>(
    statement: (db: Executor) => Promise<T>,
    { limitMs = limits.statementMs, late }: SendOptions<T> = {},
  ): Promise<T> {
    try {
      const { isolation, readOnly } = known ?? (await withTimeLimit(defaults(), limitMs));
      const wrapped = isolation !== 'read committed' || readOnly;
      const value = await withTimeLimit(
        wrapped ? inReadCommitted(db, readOnly, statement) : statement(named ?? db),
        limitMs,
        late,
      );
      succeeded();
      return value;
    } catch (error) {
      failed(error);
      throw isTableFault(error) ? tableMismatch(error) : error;
    }
  }

  // Asked until it is answered once: a worker may start before its database does.
  async function defaults(): Promise<SessionDefaults> {
    known ??= await sessionDefaults(db);
    return known;
  }

  /** The defaults can change while we run; a pool keeps connections from before and after. */
  function failed(error: unknown): void {
    const state = sqlState(error);
    if (known && state === readOnlyTransaction) known = { ...known, readOnly: true };
    if (known && state === serializationFailure) known = { ...known, isolation: 'serializable' };
    if (!isRowFault(error)) unbrokenSince = undefined;
  }

  return {
    send,
    useNames() {
      named ??= namedStatements(db);
    },
    tableHas: (bytes) => named?.tableHas(bytes),
    unbrokenForMs() {
      const now = performance.now();
      return unbrokenSince === undefined || now - lastSuccess > limits.gapMs ? 0 : now - unbrokenSince;
    },
  };
}

function tableMismatch(cause: unknown): QueueError {
  return new QueueError(
    'TABLE_MISMATCH',
    `The jobs table is not there, or not ours: ${errorBrief(cause)}. ` +
      'Run the migrations (drizzle-kit migrate), or give createWorker the `tables` that createQueue has.',
    { cause },
  );
}

/** A bare claim under a serializable default fails most of the time, with 40001. */
function inReadCommitted<T>(
  db: Database,
  readOnly: boolean,
  statement: (db: Executor) => Promise<T>,
): Promise<T> {
  const run = async (tx: Executor): Promise<T> => {
    // Not by the transaction's config: a standby refuses a `begin read write`, and drizzle-orm 0.45 never gives the
    // connection of a refused `begin` back to node-postgres' pool.
    if (readOnly) await allowWrites(tx);
    return statement(tx);
  };
  return db.transaction(run, { isolationLevel: 'read committed' });
}
