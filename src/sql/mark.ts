/**
 * The mark of the statements that insert jobs: they tell workers themselves, or mean not to. The optional trigger, which
 * tells of jobs that come by other SQL, looks for it in the text of the statement and leaves these alone.
 */
import { sql } from 'drizzle-orm';

/** What the trigger looks for. */
export const markText = '/* drizzle-queue */';

/** Behind the table's name in every `insert` of jobs. */
export const mark = sql.raw(markText);
