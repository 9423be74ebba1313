/** `enqueue`: the job exists if and only if the caller's transaction commits. */
import { describe, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { logged, queue } from './stage.js';

const database = useDatabase();

describe('enqueue', () => {
  it('makes one available job with what its kind says', async () => {
    const { db, statements } = logged(database.db.$client);
    const { id } = await queue.enqueue(db, 'sendReceipt', { orderId: 7 });
    expect(statements).toHaveLength(1);
    expect(await row(database.sql, id)).toEqual({
      id,
      queue: 'mail',
      kind: 'sendReceipt',
      payload: { orderId: 7 },
      payloadVersion: 1,
      priority: 3,
      runAt: expect.any(Date),
      state: 'available',
      attempts: 0,
      maxAttempts: 5,
      timeoutS: 120,
      timeoutMs: null,
      lockedBy: null,
      heartbeatAt: null,
      startedAt: null,
      lastError: null,
      errors: [],
      dedupeKey: null,
      again: null,
      limitKey: null,
      meta: null,
      result: null,
      createdAt: expect.any(Date),
      finishedAt: null,
    });
  });

  it('lets its own options win over the kind’s, and these over the defaults', async () => {
    const own = await queue.enqueue(
      database.db,
      'sendReceipt',
      { orderId: 1 },
      { priority: -5, maxAttempts: 1 },
    );
    expect(await row(database.sql, own.id)).toMatchObject({ priority: -5, maxAttempts: 1, timeoutS: 120 });
    const plain = await queue.enqueue(database.db, 'ping');
    expect(await row(database.sql, plain.id)).toMatchObject({
      queue: 'default',
      payload: {},
      priority: 0,
      maxAttempts: 10,
      timeoutS: 60,
    });
  });

  it('puts what it says beside the payload, on another queue of the registry', async () => {
    const options = { queue: 'mail', timeoutMs: 1_500, meta: { trace: 'a', gone: undefined } } as const;
    const expected = { queue: 'mail', timeoutMs: 1_500, meta: { trace: 'a' } };
    const { id } = await queue.enqueue(database.db, 'ping', undefined, options);
    expect(await row(database.sql, id)).toMatchObject(expected);
    const list = await queue.enqueueMany(database.db, [
      { kind: 'ping' },
      { kind: 'ping', ...options },
      { kind: 'ping', ...options, meta: { trace: 'b' } },
      { kind: 'ping', ...options, dedupeKey: 'k' },
    ]);
    const rows = await Promise.all(list.map((one) => row(database.sql, one.id)));
    expect(rows).toMatchObject([
      { queue: 'default', timeoutMs: null, meta: null },
      expected,
      { ...expected, meta: { trace: 'b' } },
      { ...expected, dedupeKey: 'k' },
    ]);
  });

  it('shows the job to others at commit, not before', async () => {
    const id = await database.db.transaction(async (tx) => {
      const enqueued = await queue.enqueue(tx, 'ping');
      expect(await row(database.sql, enqueued.id)).toBeUndefined();
      return enqueued.id;
    });
    expect(await row(database.sql, id)).toMatchObject({ state: 'available' });
  });

  it('leaves nothing when the transaction rolls back', async () => {
    const ids: number[] = [];
    const rolledBack = database.db.transaction(async (tx) => {
      ids.push((await queue.enqueue(tx, 'ping')).id);
      ids.push(...(await queue.enqueueMany(tx, [{ kind: 'ping' }, { kind: 'ping' }])).map(({ id }) => id));
      throw new Error('the order failed');
    });
    await expect(rolledBack).rejects.toThrow('the order failed');
    expect(ids).toHaveLength(3);
    expect(await database.sql`select 1 from jobs where id = any(${ids})`).toEqual([]);
  });

  it('leaves nothing when a savepoint rolls back and the outer transaction commits', async () => {
    const [outer, inner] = await database.db.transaction(async (tx) => {
      const kept = await queue.enqueue(tx, 'ping');
      let lost: number | undefined;
      await tx
        .transaction(async (savepoint) => {
          lost = (await queue.enqueue(savepoint, 'ping')).id;
          savepoint.rollback();
        })
        .catch(() => {});
      return [kept.id, lost ?? 0];
    });
    expect(await row(database.sql, outer)).toBeDefined();
    expect(await row(database.sql, inner)).toBeUndefined();
  });

  it('reports an aborted transaction as Postgres does', async () => {
    const seen = await database.db
      .transaction(async (tx) => {
        await tx.execute('select 1 / 0').catch(() => {});
        return queue.enqueue(tx, 'ping').catch((error: unknown) => {
          throw new Error('again', { cause: error });
        });
      })
      .catch((error: Error) => sqlState(error.cause));
    expect(seen).toBe('25P02');
  });

  it('works when taken off its object', async () => {
    const { enqueue, enqueueMany } = queue;
    const { id } = await enqueue(database.db, 'ping');
    const [listed] = await enqueueMany(database.db, [{ kind: 'ping' }]);
    expect(await row(database.sql, id)).toBeDefined();
    expect(await row(database.sql, listed?.id ?? 0)).toBeDefined();
  });

  it('runs though nobody awaits it, and answers with a real promise', async () => {
    const promise = queue.enqueue(database.db, 'keep', 'nobody awaits this');
    expect(promise).toBeInstanceOf(Promise);
    await until(
      async () =>
        (await database.sql`select 1 from jobs where payload = '"nobody awaits this"'`).length === 1,
      { what: 'the job' },
    );
    await promise;
  });
});
