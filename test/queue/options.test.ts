/** The options that are right, at their bounds, and the options of `createQueue`. */
import { describe, expect, it } from 'vitest';
import { createQueue, type QueueOptions } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { callPlainly, queue, registry } from './stage.js';

const database = useDatabase();

describe('an enqueue option', () => {
  it.each([
    [
      { priority: -32_768, maxAttempts: 1 },
      { priority: -32_768, maxAttempts: 1 },
    ],
    [
      { priority: 32_767, maxAttempts: 32_767 },
      { priority: 32_767, maxAttempts: 32_767 },
    ],
    [{ priority: -0 }, { priority: 0 }],
    [
      { priority: undefined, maxAttempts: undefined },
      { priority: 0, maxAttempts: 10 },
    ],
    [{ delayMs: 100 * 365 * 24 * 3600 * 1000 }, { state: 'available' }],
  ])('%j is taken on both ways', async (given, stored) => {
    const single = await queue.enqueue(database.db, 'ping', undefined, given);
    const [listed] = await queue.enqueueMany(database.db, [{ kind: 'ping', ...given }]);
    for (const id of [single.id, listed?.id ?? 0]) expect(await row(database.sql, id)).toMatchObject(stored);
  });

  it('that is null counts as left out', async () => {
    const given = { priority: null, maxAttempts: null, delayMs: null, runAt: null };
    const enqueued = await callPlainly(queue.enqueue, database.db, 'ping', undefined, given);
    expect(enqueued).toEqual({ id: expect.any(Number), duplicate: false });
  });
});

describe('createQueue', () => {
  /** As plain JavaScript may give them. */
  const withOptions = (options: unknown) =>
    createQueue(registry, options as QueueOptions & { requireTransaction: false });

  it('gives a frozen queue with the registry and the tables', () => {
    expect(Object.isFrozen(queue)).toBe(true);
    expect(queue.registry).toBe(registry);
    expect(Object.keys(queue.tables)).toEqual(['jobs', 'jobThrottle', 'jobLimits']);
  });

  it('refuses an unknown option and names the nearest', () => {
    expect(() => withOptions({ requireTransactions: true })).toThrow(
      'Unknown option "requireTransactions" in createQueue(…). Did you mean "requireTransaction"?',
    );
  });

  it.each([0, 1, 1.5, 100_000_001, Number.NaN, '5', null])(
    'refuses %j as maxPayloadBytes',
    (maxPayloadBytes) => {
      expect(() => withOptions({ maxPayloadBytes })).toThrow(
        'Expected `maxPayloadBytes` to be a whole number from 2 to 100000000',
      );
    },
  );

  it.each(['yes', 0, 1, null, 'false'])('refuses %j as requireTransaction', (requireTransaction) => {
    expect(() => withOptions({ requireTransaction })).toThrow(
      'Expected `requireTransaction` to be true or false',
    );
  });

  it.each([null, 5, {}, { jobs: {} }, { jobs: undefined }])('refuses %j as tables', (tables) => {
    expect(() => withOptions({ tables })).toThrow('Expected `tables` to be what queueTables(…) gave');
  });

  it.each([undefined, null, {}, 5])('refuses %j as registry', (given) => {
    expect(() => Reflect.apply(createQueue, undefined, [given])).toThrow(
      'Expected `registry` to be what defineJobs(…) gave',
    );
  });

  it('keeps to its size limit, to the byte', async () => {
    const small = createQueue(registry, { maxPayloadBytes: 10 });
    await expect(small.enqueue(database.db, 'keep', 'x'.repeat(8))).resolves.toBeDefined();
    await expect(small.enqueue(database.db, 'keep', 'x'.repeat(9))).rejects.toMatchObject({
      code: 'INVALID_PAYLOAD',
      data: { kind: 'keep', bytes: 11, maxBytes: 10 },
    });
  });
});
