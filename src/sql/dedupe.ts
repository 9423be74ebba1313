/** What the enqueues of jobs with a dedupe key have in common: the index that decides, as Postgres infers it. */
import { sql } from 'drizzle-orm';

// Literals: with parameters, a generic plan could not use the partial index.
/** The jobs that hold their key. */
export const holdsKey = sql`state in ('available', 'running')`;

/** Nothing is inserted where a job holds the key; waits for those who are about to give or free it. */
export const unlessHeld = sql`on conflict (kind, dedupe_key) where state in ('available', 'running') and dedupe_key is not null do nothing`;
