/** Expressions that tell the workers what a move of a person has changed, as lines of `words/notice.ts`. */
import { type SQL, sql } from 'drizzle-orm';

/** So many ids in one line: each has 16 digits at most, and a line 7,999 bytes. */
const idsPerNotice = 400;

/**
 * Of `moved` rows that were running in `mine`: whoever runs them stops.
 *
 * coalesce makes it one hash table: as a join it may go through the whole list for each row.
 */
export function toldOfChanges(channel: string): SQL {
  return sql`(
  select count(pg_catalog.pg_notify(${channel}::text, said.text))
  from   (select pg_catalog.concat('changed ', pg_catalog.string_agg(ran.id::text, ' '::text)) as text
          from   (select mine.id, (row_number() over (order by mine.id) - 1) / ${sql.raw(String(idsPerNotice))} as part
                  from   mine
                  where  mine.state = 'running' and coalesce(mine.id in (select moved.id from moved), false)) as ran
          group  by ran.part) as said)`;
}

/** Of `moved` rows (queue, due): each queue has jobs, or one that falls due later. The seed as in a notice. */
export function toldOfJobs(channel: string): SQL {
  const seed = Math.floor(Math.random() * 1_000_000);
  return sql`(
  select count(pg_catalog.pg_notify(${channel}::text,
           case when said.due then pg_catalog.concat('work ', said.jobs, ' ', ${seed}::int, ' ', said.queue)
                else               pg_catalog.concat('later ', ${seed}::int, ' ', said.queue) end))
  from   (select moved.queue, moved.due, count(*) as jobs from moved group by moved.queue, moved.due) as said)`;
}
