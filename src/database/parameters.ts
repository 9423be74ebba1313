/**
 * Values as parameters that arrive the same through every driver and both Drizzle generations.
 *
 * Plain `${value}` does not: an object throws on postgres.js, an array becomes a list, `undefined` vanishes and
 * JSON text cast straight to jsonb is encoded twice.
 */
import { type SQL, sql } from 'drizzle-orm';

/** JSON text as jsonb. The detour over text keeps postgres.js from encoding it a second time. */
export function jsonb(json: string): SQL {
  return sql`${json}::text::jsonb`;
}

/** A list of texts as one array parameter; the elements are never null. */
export function textArray(values: readonly string[]): SQL {
  return sql`${textArrayLiteral(values)}::text::text[]`;
}

/** The text of such a parameter. */
export function textArrayLiteral(values: readonly string[]): string {
  return arrayLiteral(values.map(quoted));
}

/** A list of whole numbers as one `int[]` parameter. */
export function intArray(values: readonly number[]): SQL {
  return sql`${arrayLiteral(values)}::text::int[]`;
}

/** A list of ids as one `bigint[]` parameter. */
export function idArray(values: readonly number[]): SQL {
  return sql`${arrayLiteral(values)}::text::bigint[]`;
}

/** A list of numbers as the text of an array. As text: with `fetch_types: false`, postgres.js knows no array types and sends something else. */
export function arrayLiteral(elements: readonly (string | number)[]): string {
  return `{${elements.join(',')}}`;
}

function quoted(value: string): string {
  return `"${value.replace(/["\\]/g, '\\$&')}"`;
}
