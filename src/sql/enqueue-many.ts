/** The `enqueue` move for a list: one parameter however many jobs there are, and one text for every list. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { jsonb } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { NewJob } from './enqueue.js';

/** The most jobs in one statement; more are slower, not faster. */
export const largestInsert = 5_000;

/** Inserts the jobs and gives their ids in the order of the list. */
export async function enqueueMany(db: Executor, jobs: TableName, list: readonly NewJob[]): Promise<number[]> {
  const inserted = await rows(
    db,
    sql`
insert into ${jobs} (queue, kind, payload, priority, run_at, max_attempts, timeout_s)
select new.queue,
       new.kind,
       coalesce(new.payload, 'null'::jsonb),  -- a JSON null comes out of the recordset as an SQL null
       new.priority,
       coalesce(new.run_at, clock_timestamp() + new.delay_ms::float8 * interval '1 millisecond'),
       new.max_attempts,
       new.timeout_s
from   jsonb_to_recordset(${jsonb(asJson(list))}) as new(
         n int, queue text, kind text, payload jsonb, priority smallint, run_at timestamptz, delay_ms bigint,
         max_attempts int, timeout_s int)
order  by new.n  -- ids are given out in this order
returning id`,
  );
  // RETURNING promises no order, but the ids grow with the list.
  return inserted.map((row) => numberOf(row['id'])).sort((a, b) => a - b);
}

/** Payloads are JSON text already and go in as they are. */
function asJson(list: readonly NewJob[]): string {
  const items = list.map((job, n) => {
    const fields = {
      n,
      queue: job.queue,
      kind: job.kind,
      priority: job.priority,
      ...('runAt' in job.when ? { run_at: job.when.runAt } : { delay_ms: job.when.delayMs }),
      max_attempts: job.maxAttempts,
      timeout_s: job.timeoutS,
    };
    return `${JSON.stringify(fields).slice(0, -1)},"payload":${job.payload}}`;
  });
  return `[${items.join(',')}]`;
}
