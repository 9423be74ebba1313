/** The `enqueue` move for a list of jobs with dedupe keys: nothing changes where a key is held. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { idArray, jsonb, textArray } from '../database/parameters.js';
import { numberOf, rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { holdsKey, unlessHeld } from './dedupe.js';
import type { KeyedAnswer, KeyedJob } from './enqueue.js';
import { mark } from './mark.js';
import { saidOf, saidTable } from './said.js';

/**
 * Inserts the jobs in the order of the list, and answers in it; each kind and key is in it once. A job has no answer when
 * the one that holds its key came or went while the statement ran: the next one will know more.
 *
 * Two lists that lie in the same order of keys cannot deadlock.
 */
export async function enqueueOnceMany(
  db: Executor,
  jobs: TableName,
  list: readonly KeyedJob[],
): Promise<(KeyedAnswer | undefined)[]> {
  const { said, lines } = saidOf(list);
  const payloads = `[${list.map(({ payload }) => payload).join(',')}]`; // JSON text already: it goes in as it is
  const answers = await rows(
    db,
    sql`
with ${saidTable(said)},
new as materialized (
  select said.*, job.payload, job.key, job.n
  from   rows from (jsonb_array_elements(${jsonb(payloads)}), unnest(${idArray(lines)}), unnest(${textArray(list.map(({ key }) => key))}))
         with ordinality as job(payload, line, key, n)
  join   said on said.line = job.line
),
inserted as (
  insert into ${jobs} ${mark} (queue, kind, payload, payload_version, priority, run_at, max_attempts, timeout_s, timeout_ms, meta, dedupe_key)
  select new.queue,
         new.kind,
         new.payload,
         new.payload_version,
         new.priority,
         coalesce(new.run_at, clock_timestamp() + new.delay_ms::float8 * interval '1 millisecond'),
         new.max_attempts,
         new.timeout_s,
         new.timeout_ms,
         new.meta,
         new.key
  from   new
  order  by new.n  -- waits for others in this order
  ${unlessHeld}
  returning id, kind, dedupe_key
)
select inserted.kind, inserted.dedupe_key as key, inserted.id, 0 as duplicate
from   inserted
union all
select new.kind, new.key, (  -- not a join, which would read the whole index
         select job.id from ${jobs} as job
         where  job.kind = new.kind and job.dedupe_key = new.key and job.${holdsKey}
       ), 1
from   new
where  (new.kind, new.key) not in (select inserted.kind, inserted.dedupe_key from inserted)  -- hashed, whatever is expected`,
  );
  const byKey = new Map(
    answers
      .filter((row) => row['id'] != null)
      .map((row) => {
        const duplicate = numberOf(row['duplicate']) === 1;
        const answer = { id: numberOf(row['id']), duplicate, news: !duplicate, lostIds: duplicate ? 1 : 0 };
        return [keyText({ kind: textOf(row['kind']), key: textOf(row['key']) }), answer];
      }),
  );
  return list.map((job) => byKey.get(keyText(job)));
}

/** Kind and key as one text; neither has a NUL. */
export function keyText({ kind, key }: Pick<KeyedJob, 'kind' | 'key'>): string {
  return `${kind}\0${key}`;
}
