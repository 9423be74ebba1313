/**
 * Operators and functions that fit better than those of pg_catalog: the same names, for every pair of types for which
 * pg_catalog has none of its own. Postgres takes the best fit of the whole search_path, so a statement of ours that relies on a
 * conversion (`2 * interval '1 second'`) would call them; each says so and fails.
 */
import type { Sql } from 'postgres';

const types = [
  ...['int2', 'int4', 'int8', 'float8', 'numeric', 'text', 'jsonb', 'interval', 'timestamptz', 'bool'],
  ...['text[]', 'int8[]'],
];
const operators = ['=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '||', '->', '->>'];
const functions = [
  'power',
  'to_char',
  'array_position',
  'jsonb_array_length',
  'jsonb_to_recordset',
  'to_timestamp',
  ...['left', 'split_part', 'chr', 'sum', 'min', 'max', 'array_agg'],
];
const json = [
  'jsonb_build_object(text, int4, text, text, text, text)',
  'jsonb_build_object(text, int2, text, text, text, text)',
];

export async function createDecoys(sql: Sql): Promise<void> {
  const pairs = types.flatMap((left) => types.map((right) => `${left}, ${right}`));
  const signatures = functions.flatMap((name) => [...types, ...pairs].map((args) => `${name}(${args})`));
  const traps = [...pairs.map((args) => `trap(${args})`), ...signatures, ...json].map(
    (signature) => `create function decoy.${signature} returns bool language plpgsql as
      $$ begin raise exception 'a decoy was called: %', '${signature}'; end $$`,
  );
  const there = await sql<{ known: string }[]>`
    select oprname || ' ' || format_type(oprleft, null) || ' ' || format_type(oprright, null) as known
    from   pg_operator where oprnamespace = 'pg_catalog'::regnamespace`;
  const aliases = await sql<{ alias: string; name: string }[]>`
    select alias, format_type(alias::regtype, null) as name from unnest(${types}::text[]) as alias`;
  const names = new Map(aliases.map(({ alias, name }) => [alias, name]));
  const known = new Set(there.map((operator) => operator.known));
  const fitting = operators.flatMap((operator) =>
    types.flatMap((left) =>
      types
        .filter((right) => !known.has(`${operator} ${names.get(left)} ${names.get(right)}`))
        .map(
          (right) =>
            `create operator decoy.${operator} (function = decoy.trap, leftarg = ${left}, rightarg = ${right})`,
        ),
    ),
  );
  await sql.unsafe([...traps, ...fitting].join(';\n'));
}
