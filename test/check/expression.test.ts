/** Predicates as we write them against predicates as Postgres prints them. */
import { expect, it } from 'vitest';
import { isSameExpression } from '../../src/check/expression.js';

it.each([
  ["state = 'available'", "(state = 'available'::text)"],
  ["state in ('a', 'b')", "(state = ANY (ARRAY['a'::text, 'b'::text]))"],
  [
    "state in ('a', 'b') and dedupe_key is not null",
    "((state = ANY (ARRAY['a'::text, 'b'::text])) AND (dedupe_key IS NOT NULL))",
  ],
  ["(state in ('a')) = (at is not null)", "((state = ANY (ARRAY['a'::text])) = (at IS NOT NULL))"],
  [
    'char_length(queue) between 1 and 128 and char_length(kind) between 1 and 9',
    '(((char_length(queue) >= 1) AND (char_length(queue) <= 128)) AND ((char_length(kind) >= 1) AND (char_length(kind) <= 9)))',
  ],
  ['attempts >= 0', '("attempts" >= 0)'],
  ["name = 'it''s (A)::text'", "(name = 'it''s (A)::text'::text)"],
  ["at > '2026-01-01'", "(at > '2026-01-01'::timestamp with time zone)"],
  ['', ''],
])('%s is %s', (written, printed) => {
  expect(isSameExpression(written, printed)).toBe(true);
});

it.each([
  ["state = 'available'", "(state = 'running'::text)"],
  ["state = 'available'", "(state = 'AVAILABLE'::text)"],
  ["state = 'available'", "((state = 'available'::text) AND (limit_key IS NULL))"],
  ["state = 'available'", "(state <> 'available'::text)"],
  ["state = 'available'", ''],
  ["state in ('a', 'b')", "(state = ANY (ARRAY['a'::text]))"],
  ["state in ('a', 'b')", "(state <> ALL (ARRAY['a'::text, 'b'::text]))"],
  ['finished_at is not null', '(finished_at IS NULL)'],
  ['n between 1 and 128', '((n >= 1) AND (n <= 129))'],
  ["name = 'a b'", "(name = 'a  b'::text)"],
  ['attempts >= 0', '("Attempts" >= 0)'],
])('%s is not %s', (written, printed) => {
  expect(isSameExpression(written, printed)).toBe(false);
});
