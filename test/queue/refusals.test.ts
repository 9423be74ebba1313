/** What is refused is refused before any SQL: the caller's transaction stays usable, and commits. */

import { describe, expect, it } from 'vitest';
import { QueueError } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { givenInData } from '../support/given.js';
import { callPlainly, logged, queue } from './stage.js';

const database = useDatabase();

interface Wrong {
  readonly what: string;
  /** As plain JavaScript may give it. */
  readonly item: { readonly kind: unknown; readonly payload?: unknown; readonly [option: string]: unknown };
  readonly error: { readonly code: string; readonly data?: object };
}

const invalid = (data: object) => ({ code: 'INVALID_PAYLOAD', data: { kind: 'keep', ...data } });
const wrong: readonly Wrong[] = [
  {
    what: 'a kind nobody defined',
    item: { kind: 'sendReciept', payload: { orderId: 1 } },
    error: { code: 'UNKNOWN_KIND', data: { kind: 'sendReciept' } },
  },
  { what: 'a kind that every object has', item: { kind: 'constructor' }, error: { code: 'UNKNOWN_KIND' } },
  { what: 'a kind that is no text', item: { kind: undefined }, error: { code: 'UNKNOWN_KIND' } },
  { what: 'NUL', item: { kind: 'keep', payload: { a: ['\0'] } }, error: invalid({ path: ['a', 0] }) },
  {
    what: 'NUL in a key',
    item: { kind: 'keep', payload: { a: { '\0': 1 } } },
    error: invalid({ path: ['a'] }),
  },
  {
    what: 'half an emoji',
    item: { kind: 'keep', payload: { a: '\ud83d' } },
    error: invalid({ path: ['a'] }),
  },
  { what: 'a bigint', item: { kind: 'keep', payload: { n: 1n } }, error: invalid({ path: ['n'] }) },
  { what: 'a circle', item: { kind: 'keep', payload: circle() }, error: invalid({ path: ['self'] }) },
  {
    what: 'a payload that cannot be read',
    item: { kind: 'keep', payload: unreadable() },
    error: invalid({}),
  },
  {
    what: 'a payload of 1 MiB and a byte',
    item: { kind: 'keep', payload: 'x'.repeat(1_048_575) },
    error: invalid({ bytes: 1_048_577, maxBytes: 1_048_576 }),
  },
  {
    what: 'an unknown option',
    item: { kind: 'ping', delay: 1 },
    error: { code: 'INVALID_OPTION', data: { option: 'delay' } },
  },
  { what: 'both runAt and delayMs', ...option('runAt', new Date(), { delayMs: 0 }) },
  ...options('priority', [-32_769, 32_768, 2 ** 31, 1.5, Number.NaN, '1', 1n, {}]),
  ...options('maxAttempts', [0, -1, 1.5, 32_768, 2 ** 31, Number.NaN, '3']),
  ...options('timeoutMs', [0, -1, 1.5, 2 ** 31, Number.POSITIVE_INFINITY, '5']),
  ...[5, 'text', [], new Date(), { at: new Date() }, circle()].map((meta, n) => ({
    what: `meta that is no object of JSON (${n})`,
    item: { kind: 'ping', meta },
    error: { code: 'INVALID_OPTION', data: { option: 'meta' } },
  })),
  {
    what: 'meta that has a Date',
    item: { kind: 'ping', meta: { trace: { at: new Date() } } },
    error: { code: 'INVALID_OPTION', data: { option: 'meta', path: ['trace', 'at'] } },
  },
  {
    what: 'a queue that no kind is on',
    item: { kind: 'ping', queue: 'mial' },
    error: { code: 'UNKNOWN_QUEUE', data: { queue: 'mial' } },
  },
  ...options('delayMs', [-1, Number.NaN, Number.POSITIVE_INFINITY, 1e13, '5', 5n, new Date()]),
  ...options('runAt', [new Date(Number.NaN), new Date(Date.UTC(20_000, 0)), 1_800_000_000, 1.8e12, {}]),
  ...options('runAt', ['2027-01-01', '2027-01-01T08:00:00', 'tomorrow', '', 'infinity', '0044-03-15 BC']),
];

describe.each(wrong)('$what', ({ item, error }) => {
  it('is refused by enqueue with a rejection, before any SQL', async () => {
    const { db, statements } = logged(database.db.$client);
    const { kind, payload, ...given } = item;
    await db.transaction(async (tx) => {
      // Not awaited at once: a throw in place of a rejection would fail here.
      const refused = callPlainly(queue.enqueue, tx, kind, payload, given).catch((reason: unknown) => reason);
      expect(await refused).toBeInstanceOf(QueueError);
      expect(await refused).toMatchObject(error);
      expect(statements).toEqual([]);
      await queue.enqueue(tx, 'ping');
    });
    expect(statements).toHaveLength(1);
  });

  it('is refused as the second of three by enqueueMany, which names the place', async () => {
    const { db, statements } = logged(database.db.$client);
    await db.transaction(async (tx) => {
      const list = [{ kind: 'ping' }, item, { kind: 'ping' }];
      const refused = await callPlainly(queue.enqueueMany, tx, list).catch((reason: unknown) => reason);
      expect(refused).toBeInstanceOf(QueueError);
      expect(refused).toMatchObject({
        ...error,
        message: expect.stringMatching(/^Job 1 of the list: /),
        data: { ...error.data, index: 1 },
      });
      expect(statements).toEqual([]);
      await queue.enqueueMany(tx, [{ kind: 'ping' }]);
    });
    expect(statements).toHaveLength(1);
  });
});

it.each([5_000, null, 'now', [], () => {}])('%j is refused in place of options', async (given) => {
  const { db, statements } = logged(database.db.$client);
  await expect(callPlainly(queue.enqueue, db, 'ping', undefined, given)).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining('Expected `the enqueue options` to be an object, got '),
  });
  expect(statements).toEqual([]);
});

it.each([undefined, null, 'ping', { kind: 'ping' }, new Set(), 5])(
  '%j is refused in place of a list',
  async (list) => {
    const { db, statements } = logged(database.db.$client);
    await expect(callPlainly(queue.enqueueMany, db, list)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      data: { option: 'list', given: givenInData(list) },
    });
    expect(statements).toEqual([]);
  },
);

it.each([undefined, null, 'ping', 5, ['ping']])(
  '%j is refused in place of a job of the list',
  async (item) => {
    const { db, statements } = logged(database.db.$client);
    await expect(callPlainly(queue.enqueueMany, db, [{ kind: 'ping' }, item])).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('Job 1 of the list: Expected `a job of the list` to be an object'),
      data: { index: 1 },
    });
    expect(statements).toEqual([]);
  },
);

it('a hole in the list is refused', async () => {
  const list: unknown[] = [{ kind: 'ping' }];
  list[2] = { kind: 'ping' };
  const { db, statements } = logged(database.db.$client);
  await expect(callPlainly(queue.enqueueMany, db, list)).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    data: { index: 1 },
  });
  expect(statements).toEqual([]);
});

function option(name: string, value: unknown, others = {}): Pick<Wrong, 'item' | 'error'> {
  return {
    item: { kind: 'ping', ...others, [name]: value },
    error: { code: 'INVALID_OPTION', data: { option: name, given: givenInData(value) } },
  };
}

function options(name: string, values: readonly unknown[]): Wrong[] {
  return values.map((value) => ({ what: `${name}: ${String(value)}`, ...option(name, value) }));
}

function circle(): object {
  const around: { self?: object } = {};
  around.self = around;
  return around;
}

function unreadable(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
