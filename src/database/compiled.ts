/**
 * Statements whose text is put together once, and sent with other values each time: for a long one, Drizzle takes a good
 * part of the time that Postgres does.
 */
import { type SQL, sql } from 'drizzle-orm';
import { queryOf } from './client.js';

/** What a statement may be given; arrays come as the text of their literal. */
export type Value = string | number;

/** Stands for a value. Not Drizzle's placeholder, which in 1.0 hides its name. */
class Slot {
  constructor(readonly name: string) {}
}

/**
 * Takes what builds a statement around the names of its values, and gives what makes the statement of values. All names of
 * `build` have to be among the values; others are passed over.
 */
export function compiled<Name extends string>(
  build: (value: (name: Name) => SQL) => SQL,
): (values: Readonly<Record<Name, Value>>) => SQL {
  const { text, values: slots } = queryOf(build((name) => sql`${sql.param(new Slot(name))}`));
  const parts = text.split(/\$\d+/); // in the order of the slots: Drizzle numbers them as it goes
  const strings = Object.assign([...parts], { raw: parts });
  return (values) => {
    const given: Readonly<Record<string, Value>> = values;
    return sql(strings, ...slots.map((slot) => (slot instanceof Slot ? given[slot.name] : slot)));
  };
}
