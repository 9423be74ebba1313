/** One more entry for the `errors` column, as SQL: the latest attempts are kept, the oldest goes. */
import { type SQL, sql } from 'drizzle-orm';
import { errorsKept } from '../words/error-text.js';

/** The new value of `errors` for a row called `job`; `error` is a text expression. */
export function loggedErrors(error: SQL): SQL {
  return sql`
    case when jsonb_array_length(job.errors) >= ${sql.raw(String(errorsKept))} then job.errors - 0 else job.errors end
    || pg_catalog.jsonb_build_object(
         'attempt', job.attempts,
         'at',      to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
         'error',   ${error})`;
}
