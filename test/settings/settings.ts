/**
 * Defaults that somebody may have given a database. Those that can hardly disturb each other are set together, since each
 * row is a database and a few hundred jobs.
 */

export interface Row {
  readonly name: string;
  /** Name → value, as `alter database … set` takes it. */
  readonly set: Readonly<Record<string, string>>;
  /** Nothing can be written outside of a transaction that says so. */
  readonly readOnly?: true;
  /** A handler's own transaction may fail, as every transaction of the app may, and then runs again. */
  readonly conflicts?: true;
  /** How many statements of the worker a busy machine may be too slow for; none without it. */
  readonly mostErrors?: number;
  /** The schema `decoy` also has operators and functions that fit better than those of Postgres. */
  readonly decoys?: true;
}

/** The first major version that knows a setting, where that is not every one we support. */
export const since: Readonly<Record<string, number>> = { idle_session_timeout: 14, transaction_timeout: 17 };

export const databases: readonly Row[] = [
  { name: 'serializable', set: { default_transaction_isolation: 'serializable' }, conflicts: true },
  { name: 'repeatable read', set: { default_transaction_isolation: `'repeatable read'` }, conflicts: true },
  { name: 'read only', set: { default_transaction_read_only: 'on' }, readOnly: true },
  {
    name: 'read only, serializable and deferrable',
    set: {
      default_transaction_isolation: 'serializable',
      default_transaction_read_only: 'on',
      default_transaction_deferrable: 'on',
    },
    readOnly: true,
    conflicts: true,
  },
  {
    name: 'a short statement_timeout',
    set: { statement_timeout: `'200ms'` },
    conflicts: true,
    mostErrors: 5,
  },
  { name: 'a short lock_timeout', set: { lock_timeout: `'50ms'` }, conflicts: true, mostErrors: 5 },
  {
    name: 'short transactions',
    set: { idle_in_transaction_session_timeout: `'1s'`, transaction_timeout: `'1s'` },
  },
  {
    name: 'the times of Kathmandu',
    set: { TimeZone: `'Asia/Kathmandu'`, DateStyle: `'SQL, DMY'`, IntervalStyle: `'sql_standard'` },
  },
  {
    name: 'the times of St John’s',
    set: { TimeZone: `'America/St_Johns'`, DateStyle: `'German'`, IntervalStyle: `'iso_8601'` },
  },
  { name: 'an empty search_path', set: { search_path: `''` } },
  { name: 'another table of our name in front', set: { search_path: 'decoy, public' } },
  { name: 'another table of our name alone', set: { search_path: 'pg_temp, decoy' } },
  { name: 'better operators in front', set: { search_path: 'decoy, public' }, decoys: true },
  {
    name: 'the literals of old',
    set: {
      standard_conforming_strings: 'off',
      backslash_quote: 'off',
      array_nulls: 'off',
      transform_null_equals: 'on',
    },
  },
  {
    name: 'other texts in answers',
    set: {
      extra_float_digits: '-15',
      bytea_output: `'escape'`,
      client_encoding: `'LATIN1'`,
      client_min_messages: `'debug5'`,
      lc_messages: `'C'`,
    },
  },
  { name: 'generic plans', set: { plan_cache_mode: `'force_generic_plan'`, enable_seqscan: 'off' } },
  {
    name: 'a planner without its best',
    set: {
      plan_cache_mode: `'force_custom_plan'`,
      enable_indexscan: 'off',
      enable_nestloop: 'off',
      enable_hashjoin: 'off',
      enable_sort: 'off',
      join_collapse_limit: '1',
      geqo_threshold: '2',
    },
  },
  { name: 'no memory and no disk to sort in', set: { work_mem: `'64kB'`, temp_file_limit: '0' } },
  { name: 'everything compiled', set: { jit: 'on', jit_above_cost: '0' } },
  {
    name: 'compiled and optimized',
    set: { jit: 'on', jit_above_cost: '0', jit_inline_above_cost: '0', jit_optimize_above_cost: '0' },
  },
  {
    name: 'no triggers and no policies',
    set: { session_replication_role: `'replica'`, row_security: 'off', synchronous_commit: 'off' },
  },
];
