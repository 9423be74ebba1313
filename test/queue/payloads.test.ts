/** Payloads arrive in the table as the JSON they were, by both ways in; what JSON changes silently is in registry/. */
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { logged, queue } from './stage.js';

const database = useDatabase();

const payloads: readonly [string, JsonValue, string][] = [
  ['an object', { a: 1, b: { c: [true, null, 'x'] } }, 'object'],
  ['an empty object', {}, 'object'],
  ['an array', [1, [2], {}], 'array'],
  ['a text', 's', 'string'],
  ['a text that looks like JSON', '{"a":1}', 'string'],
  ['a number', 5, 'number'],
  ['a large number', 1.7976931348623157e308, 'number'],
  ['a small number', -5e-324, 'number'],
  ['null', null, 'null'],
  ['false', false, 'boolean'],
  ['emoji and quotes', { '😀"\'\\': '😀 \' " \\ $1 {} , NULL %s ?', '': '' }, 'object'],
  ['a backslash and u0000, six ordinary characters', { a: '\\u0000', '\\u0000': '\\\\u0000' }, 'object'],
  ['control characters but NUL', { a: '\u0001\b\t\n\u001f\u007f\u2028\ufeff\uffff' }, 'object'],
  ['keys that every object has', { constructor: 1, toString: 2, length: 3 }, 'object'],
  ['a __proto__ key', JSON.parse('{"__proto__":{"isAdmin":true}}'), 'object'],
  ['400 levels', nested(400), 'array'],
];

describe.each(payloads)('%s', (_what, payload, type) => {
  it('is stored as it is by enqueue and by enqueueMany', async () => {
    const single = await queue.enqueue(database.db, 'keep', payload);
    const listed = await queue.enqueueMany(database.db, [
      { kind: 'keep', payload },
      { kind: 'ping' },
      { kind: 'keep', payload },
    ]);
    for (const id of [single.id, listed[0]?.id ?? 0, listed[2]?.id ?? 0]) {
      const [stored] =
        await database.sql`select payload, jsonb_typeof(payload) as type from jobs where id = ${id}`;
      expect(stored).toEqual({ payload, type });
    }
  });
});

it('a payload of exactly 1 MiB of JSON is taken, and sent as a parameter', async () => {
  const payload = 'x'.repeat(1_048_574);
  const { db, statements } = logged(database.db.$client);
  const { id } = await queue.enqueue(db, 'keep', payload);
  const [stored] = await database.sql`select length(payload #>> '{}') as length from jobs where id = ${id}`;
  expect(stored).toEqual({ length: 1_048_574 });
  expect(statements[0]?.length).toBeLessThan(1_000);
});

it('a hundred payloads of half a MiB are cut into statements', async () => {
  const { db, statements } = logged(database.db.$client);
  const list = Array.from({ length: 100 }, () => ({ kind: 'keep' as const, payload: 'x'.repeat(500_000) }));
  expect(await queue.enqueueMany(db, list)).toHaveLength(100);
  expect(statements).toHaveLength(4);
});

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}
