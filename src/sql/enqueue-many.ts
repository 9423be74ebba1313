/** The `enqueue` move for a list: one parameter however many jobs there are, and one text for every list. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { idArray, jsonb } from '../database/parameters.js';
import { numberOf, rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { NewJob } from './enqueue.js';
import { mark } from './mark.js';
import { type Notifications, notifiedAll } from './notify.js';
import { saidOf, saidTable } from './said.js';

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
with ${saidTable(said)}
insert into ${jobs} ${mark} (queue, kind, payload, payload_version, priority, run_at, max_attempts, timeout_s, timeout_ms, meta)
select said.queue,
       said.kind,
       new.payload,
       said.payload_version,
       said.priority,
       coalesce(said.run_at, clock_timestamp() + said.delay_ms::float8 * interval '1 millisecond'),
       said.max_attempts,
       said.timeout_s,
       said.timeout_ms,
       said.meta
from   rows from (jsonb_array_elements(${jsonb(payloads)}), unnest(${idArray(lines)}))
       with ordinality as new(payload, line, n)
join   said on said.line = new.line
${notifications ? sql`where  ${notifiedAll(notifications)} is not null  -- always: it is looked at once, and sends them\n` : sql``}order  by new.n  -- ids are given out in this order
returning id`,
  );
  // RETURNING promises no order, but the ids grow with the list.
  return inserted.map((row) => numberOf(row['id'])).sort((a, b) => a - b);
}
