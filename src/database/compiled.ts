/**
 * Statements whose text is put together once, and sent with other values each time: for a long one, Drizzle takes a good
 * part of the time that Postgres does.
 */
import { type SQL, sql } from 'drizzle-orm';
import { isQuery, queryOf } from './client.js';

/** What a statement may be given; arrays come as the text of their literal. */
export type Value = string | number;

/** Around the name of a value. No name of Postgres has it, so nothing else is taken for one, as `$1` could be. */
const mark = '\0';

/** Takes what builds a statement around the names of its values, all of them, and gives what makes it of values. */
export function compiled<Name extends string>(
  build: (value: (name: Name) => SQL) => SQL,
): (values: Readonly<Record<Name, Value>>) => SQL {
  const { text, values: others } = queryOf(build((name) => sql.raw(mark + name + mark)));
  if (others.length > 0) throw new Error('A value without a name.'); // it would have the number of another one
  const pieces = text.split(mark); // in turn a part of the text and a name
  const parts = pieces.filter((_, n) => n % 2 === 0);
  const names = pieces.filter((_, n) => n % 2 === 1);
  const strings = Object.assign([...parts], { raw: parts });
  const numbered = parts.reduce((before, part, n) => `${before}$${n}${part}`);
  return (given) => {
    const byName: Readonly<Record<string, Value>> = given;
    const values = names.map((name) => byName[name]);
    return isQuery(sql(strings, ...values), { text: numbered, values });
  };
}
