/** The optional trigger that tells workers of jobs which come by plain SQL, for migrations. The library itself never runs it. */
import { channelOfKey } from '../database/table-name.js';
import { markText } from './mark.js';
import { quotedName } from './storage.js';

/** Raised with every change of the statements, so that an app whose migrations have older ones gets others. */
export const wakeTriggerVersion = 1;

const triggerName = 'jobs_wake';

/**
 * The statements that make it, in order, repeatable; also for Postgres 13, which has no `create or replace trigger`.
 *
 * Once for a statement, whatever it inserts: one notice for each queue with jobs that are due, and one for each with jobs
 * that fall due later, as lines of `words/notice.ts`. The seed is the transaction's, so that Postgres sends what is told twice
 * in one transaction once.
 */
export function createWakeTrigger(schema: string, table: string): string[] {
  const onTable = quotedName(schema, table);
  const [functionName, trigger] = [quotedName(schema, `${table}_wake`), quotedName(triggerName)];
  return [
    `create or replace function ${functionName}() returns trigger
language plpgsql
set search_path = pg_catalog
as $body$
begin
  -- drizzle-queue's own statements tell workers themselves.
  if strpos(current_query(), ${literal(markText)}) > 0 then
    return null;
  end if;
  perform pg_notify(${literal(channelOfKey(`${schema}.${table}`))}, said.text)
  from (
    select case when job.due then concat('work ', count(*), ' ', txid_current() % 1000000, ' ', job.queue)
                else               concat('later ', txid_current() % 1000000, ' ', job.queue) end as text
    from   (select inserted.queue, inserted.run_at <= clock_timestamp() as due
            from   inserted
            where  inserted.state = 'available') as job
    group  by job.queue, job.due
  ) as said;
  return null;
end
$body$`,
    `drop trigger if exists ${trigger} on ${onTable}`,
    `create trigger ${trigger} after insert on ${onTable} referencing new table as inserted
for each statement execute function ${functionName}()`,
  ];
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
