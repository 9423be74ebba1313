/**
 * What the jobs of a list say beside their payloads, each line once: most lists say the same of every job, and with all
 * columns in each job's JSON a list took Postgres twice as long.
 */
import { type SQL, sql } from 'drizzle-orm';
import { jsonb } from '../database/parameters.js';
import type { NewJob } from './enqueue.js';

/** The CTE `said`, with a column for each of a job's and its `line`. */
export function saidTable(said: readonly object[]): SQL {
  return sql`said as materialized (
  select *
  from   rows from (jsonb_to_recordset(${jsonb(JSON.stringify(said))}) as (
           queue text, kind text, payload_version smallint, priority smallint, run_at timestamptz, delay_ms bigint,
           max_attempts int, timeout_s int, timeout_ms int, meta jsonb)
         ) with ordinality as said(queue, kind, payload_version, priority, run_at, delay_ms, max_attempts, timeout_s, timeout_ms, meta, line)
)`;
}

type Said = Omit<NewJob, 'payload'>;

/** What the jobs say beside their payloads, each line once, and the line of each job, from 1. */
export function saidOf(list: readonly NewJob[]): {
  readonly said: readonly object[];
  readonly lines: number[];
} {
  const lineOf = new Map<string, number>();
  const said: object[] = [];
  let last: Said | undefined;
  let line = 0;
  const lines = list.map((job) => {
    if (last && saysTheSame(job, last)) return line;
    last = job;
    const columns = columnsOf(job);
    const key = JSON.stringify(columns);
    line = lineOf.get(key) ?? said.push(columns);
    lineOf.set(key, line);
    return line;
  });
  return { said, lines };
}

function saysTheSame(one: Said, other: Said): boolean {
  return (
    one.kind === other.kind &&
    one.queue === other.queue &&
    one.priority === other.priority &&
    one.maxAttempts === other.maxAttempts &&
    one.timeoutS === other.timeoutS &&
    one.timeoutMs === other.timeoutMs &&
    one.payloadVersion === other.payloadVersion &&
    one.meta === other.meta &&
    'delayMs' in one.when &&
    'delayMs' in other.when &&
    one.when.delayMs === other.when.delayMs
  );
}

function columnsOf(job: Said): object {
  const { queue, kind, payloadVersion = 1, priority, when, maxAttempts, timeoutS, timeoutMs, meta } = job;
  return {
    queue,
    kind,
    payload_version: payloadVersion,
    priority,
    ...('runAt' in when ? { run_at: when.runAt } : { delay_ms: when.delayMs }),
    max_attempts: maxAttempts,
    timeout_s: timeoutS,
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    ...(meta === undefined ? {} : { meta: JSON.parse(meta) }),
  };
}
