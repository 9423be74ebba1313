/**
 * What went wrong with a statement, by SQLSTATE. Drizzle wraps most driver errors in one of its own with the
 * original in `cause`, but not those that postgres.js rethrows at the end of a transaction.
 */

/** The five characters of the SQLSTATE, or undefined for an error that did not come from Postgres. */
export function sqlState(error: unknown): string | undefined {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && typeof current === 'object' && current !== null; depth++) {
    const { code, cause } = current as { code?: unknown; cause?: unknown };
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return code;
    current = cause;
  }
  return undefined;
}

/** Whether the statement met a database without our tables, or with others of their name: no such table, column, schema. */
export function isTableFault(error: unknown): boolean {
  return /^(?:42P01|42703|3F000)$/.test(sqlState(error) ?? '');
}

/**
 * Whether it may pass by itself: no answer at all (08, no SQLSTATE), no resources (53), a server that stops or starts (57),
 * a role (28) or database (3D) that a deploy has yet to make.
 */
export function isPassing(error: unknown): boolean {
  return /^(?:08|28|3D|53|57|$)/.test(sqlState(error) ?? '');
}

/**
 * Whether the rows of a statement caused its failure, so that leaving one out may help: data (22), constraints
 * (23), cardinality (21), limits such as a jsonb that is too large (54), an app's own trigger (P0).
 * Everything else (no connection, a deadlock, a missing right, read-only after a failover) concerns the statement
 * as a whole and is tried again later.
 */
export function isRowFault(error: unknown): boolean {
  return /^(?:21|22|23|54|P0)/.test(sqlState(error) ?? '');
}

/** Whether a unique index has the key already. */
export function isDuplicate(error: unknown): boolean {
  return sqlState(error) === '23505';
}

/** Whether the server closes the connection with it: a shutdown, a killed backend, a limit of the session's. */
export function endsSession(error: unknown): boolean {
  return /^(?:57P01|57P02|57P05|25P03|25P04)$/.test(sqlState(error) ?? '');
}
