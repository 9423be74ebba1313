/**
 * The usual backoff as SQL, shared by fail and rescue: `min(2^attempts, 3600) s × random(0.5, 1)`, at least 1 s.
 *
 * Every operand has the very type that the operator of pg_catalog takes, here and in the other statements: for
 * another, one of the same name that the app has in its search_path would fit better, and be taken.
 */
import { type SQL, sql } from 'drizzle-orm';
import { backoff } from '../words/backoff.js';

const { baseS, capS, floorMs } = backoff;
const literal = (value: number): SQL => sql.raw(String(value));

/** An interval; `attempts` is the column (or expression) that holds how often the job has started. */
export function usualBackoff(attempts: SQL): SQL {
  // The exponent is capped before power() sees it: 2^1024 is out of a double's range and would fail the finish.
  return sql`greatest(
    least(power(${literal(baseS)}::float8, least(${attempts}, 30)::float8), ${literal(capS)}::float8)
      * (0.5::float8 + random() / 2::float8) * interval '1 second',
    interval '${literal(floorMs)} milliseconds')`;
}
