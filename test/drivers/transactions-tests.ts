/** The current transaction: what deep code enqueues joins it, and what comes too late is refused. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { createTransactions } from '../../src/index.js';
import { createGate } from '../worker/gate.js';
import { queue } from './app.js';
import type { UsedDriver } from './stage.js';

export function transactionsTests(used: UsedDriver): void {
  const make = () => createTransactions(used.db, queue);
  const payloads = async () =>
    (await used.read(sql`select payload from jobs order by id`)).map((row) => row['payload']);

  it('takes what deep code enqueues, and is not there outside', async () => {
    const { transaction, enqueue, enqueueMany } = make();
    async function deep(n: number): Promise<void> {
      await new Promise((resolve) => setImmediate(resolve));
      await enqueue('greet', n);
      await enqueueMany([{ kind: 'greet', payload: n + 1 }]);
    }
    await transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      await Promise.all([deep(1)]);
    });
    const undone = transaction(async (tx) => {
      await deep(10);
      tx.rollback();
    });
    await expect(undone).rejects.toThrow();
    expect(await payloads()).toEqual([1, 2]);
    await expect(enqueue('greet', 3)).rejects.toMatchObject({ code: 'TRANSACTION_REQUIRED' });
  });

  it('is the savepoint inside a savepoint, whichever way it is made', async () => {
    const { transaction, enqueue, current } = make();
    const fails = async (n: number): Promise<never> => {
      await enqueue('greet', n);
      throw new Error('undo it');
    };
    await transaction(async (tx) => {
      await enqueue('greet', 1);
      await expect(transaction(() => fails(2))).rejects.toThrow('undo it');
      await expect(tx.transaction(() => fails(3))).rejects.toThrow('undo it');
      await tx.transaction(async (inner) => {
        expect(current()).toBe(inner);
        await transaction(() => enqueue('greet', 4));
        await expect(transaction(() => fails(5))).rejects.toThrow('undo it');
      });
      expect(current()).toBe(tx);
      await enqueue('greet', 6);
    });
    expect(await payloads()).toEqual([1, 4, 6]);
  });

  it('waits for an enqueue that nobody awaited, and refuses one that comes later', async () => {
    const { transaction, enqueue } = make();
    const over = createGate();
    let later: Promise<unknown> | undefined;
    await transaction(async () => {
      void enqueue('greet', 1);
      later = over.passed.then(() => enqueue('greet', 2));
      later.catch(() => {});
    });
    over.open();
    await expect(later).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
    expect(await payloads()).toEqual([1]);
  });
}
