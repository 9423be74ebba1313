/** The usual backoff as SQL, shared by fail and rescue: `min(2^attempts, 3600) s × random(0.5, 1)`, at least 1 s. */
import { type SQL, sql } from 'drizzle-orm';
import { backoff } from '../words/backoff.js';

const { baseS, capS, floorMs } = backoff;
const literal = (value: number): SQL => sql.raw(String(value));

/** An interval; `attempts` is the column (or expression) that holds how often the job has started. */
export function usualBackoff(attempts: SQL): SQL {
  // The exponent is capped before power() sees it: 2^1024 is out of a double's range and would fail the finish.
  return sql`greatest(
    least(power(${literal(baseS)}, least(${attempts}, 30)), ${literal(capS)}) * (0.5 + random() / 2) * interval '1 second',
    ${literal(floorMs)} * interval '1 millisecond')`;
}
