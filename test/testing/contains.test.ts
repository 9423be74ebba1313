/** `contains` answers as Postgres' `@>` does. */
import { expect, it } from 'vitest';
import { contains } from '../../src/testing/contains.js';
import { useDatabase } from '../support/database.js';

const database = useDatabase();

const values: unknown[] = [
  null,
  true,
  false,
  0,
  1.5,
  '',
  '1.5',
  [],
  {},
  [1],
  [1, 2],
  [2, 1, 1],
  [[1]],
  [null],
  [{}],
  [{ a: 1 }],
  [{ b: 2, a: 1 }, 1],
  { a: null },
  { a: 1 },
  { a: 1, b: 2 },
  { a: { b: 1 } },
  { a: { b: 1, c: [1, 2] } },
  { a: { c: [2] } },
  { a: [] },
  { a: {} },
  { 0: 1, length: 1 },
  JSON.parse('{ "__proto__": 1 }'),
  { constructor: 1 },
];

it('for every pair of these', async () => {
  const pairs = values.flatMap((whole) => values.map((part) => ({ whole, part })));
  const answers = await database.sql`
    select (pair -> 'whole') @> (pair -> 'part') as contains
    from   jsonb_array_elements(${JSON.stringify(pairs)}::text::jsonb) with ordinality as pairs(pair, n)
    order  by n`;
  const differing = pairs.filter(({ whole, part }, at) => {
    // Postgres has one exception, which no type of a payload's part allows: an array contains what is in it.
    if (Array.isArray(whole) && Object(part) !== part) return contains(whole, part);
    return contains(whole, part) !== answers[at]?.['contains'];
  });
  expect(differing).toEqual([]);
  expect(answers.filter((answer) => answer['contains'])).not.toHaveLength(0);
});
