/** The `enqueue` move for a list: one parameter however many jobs there are, and one text for every list. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { idArray, jsonb } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { NewJob } from './enqueue.js';
import { type Notifications, notifiedAll } from './notify.js';

/** The most jobs in one statement; more are slower, not faster. */
export const largestInsert = 5_000;

/**
 * Inserts the jobs and gives their ids in the order of the list.
 *
 * Most lists say the same of every job but the payload, so what they say goes in once (`said`), and each job names its
 * line: with all columns in each job's JSON, a list took Postgres twice as long.
 *
 * What is to be told with them goes out when the transaction commits.
 */
export async function enqueueMany(
  db: Executor,
  jobs: TableName,
  list: readonly NewJob[],
  notifications?: Notifications | undefined,
): Promise<number[]> {
  const { said, lines } = saidOf(list);
  const payloads = `[${list.map(({ payload }) => payload).join(',')}]`; // JSON text already: it goes in as it is
  const inserted = await rows(
    db,
    sql`
with said as materialized (
  select *
  from   rows from (jsonb_to_recordset(${jsonb(JSON.stringify(said))}) as (
           queue text, kind text, priority smallint, run_at timestamptz, delay_ms bigint, max_attempts int, timeout_s int)
         ) with ordinality as said(queue, kind, priority, run_at, delay_ms, max_attempts, timeout_s, line)
)
insert into ${jobs} (queue, kind, payload, priority, run_at, max_attempts, timeout_s)
select said.queue,
       said.kind,
       new.payload,
       said.priority,
       coalesce(said.run_at, clock_timestamp() + said.delay_ms::float8 * interval '1 millisecond'),
       said.max_attempts,
       said.timeout_s
from   rows from (jsonb_array_elements(${jsonb(payloads)}), unnest(${idArray(lines)}))
       with ordinality as new(payload, line, n)
join   said on said.line = new.line
${notifications ? sql`where  ${notifiedAll(notifications)} is not null  -- always: it is looked at once, and sends them\n` : sql``}order  by new.n  -- ids are given out in this order
returning id`,
  );
  // RETURNING promises no order, but the ids grow with the list.
  return inserted.map((row) => numberOf(row['id'])).sort((a, b) => a - b);
}

type Said = Omit<NewJob, 'payload'>;

/** What the jobs say beside their payloads, each line once, and the line of each job, from 1. */
function saidOf(list: readonly NewJob[]): { readonly said: readonly object[]; readonly lines: number[] } {
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
    'delayMs' in one.when &&
    'delayMs' in other.when &&
    one.when.delayMs === other.when.delayMs
  );
}

function columnsOf({ queue, kind, priority, when, maxAttempts, timeoutS }: Said): object {
  return {
    queue,
    kind,
    priority,
    ...('runAt' in when ? { run_at: when.runAt } : { delay_ms: when.delayMs }),
    max_attempts: maxAttempts,
    timeout_s: timeoutS,
  };
}
