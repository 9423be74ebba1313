/** What the schema check finds. */

/** Stable across releases: test `problem.code`, not the message. */
export type SchemaProblemCode =
  | 'SERVER_TOO_OLD'
  | 'SERVER_READ_ONLY'
  | 'SCHEMA_MISSING'
  | 'TABLE_MISSING'
  | 'TABLE_NOT_OURS'
  | 'COLUMN_MISSING'
  | 'COLUMN_DIFFERS'
  | 'INDEX_MISSING'
  | 'INDEX_DIFFERS'
  | 'CHECK_MISSING'
  | 'CHECK_DIFFERS'
  | 'STORAGE_NOT_SET'
  | 'RIGHT_MISSING'
  | 'POLICY_MISSING'
  // Told by workers only.
  | 'NOT_LISTENING'
  | 'DIRECT_DB_DIFFERS';

/** One thing that the database lacks. */
export interface SchemaProblem {
  readonly code: SchemaProblemCode;
  /** `error`: something fails because of it. `warning`: slower, or less safe. */
  readonly severity: 'error' | 'warning';
  /** What it is about: `index jobs_claim`, `column "public"."jobs"."meta"`. */
  readonly object: string;
  /** What is wrong, and what to run: one sentence each. */
  readonly message: string;
  /** What to run, SQL or shell commands, one a line. The check itself never runs it. */
  readonly run: readonly string[];
}

export function problem(
  code: SchemaProblemCode,
  severity: SchemaProblem['severity'],
  object: string,
  wrong: string,
  run: readonly string[],
  advice = `Run: ${run.join('; ')}`,
): SchemaProblem {
  return { code, severity, object, message: `${wrong}. ${advice}.`, run };
}
