/**
 * A statement fails inside a transaction, and the app catches it and goes on. Postgres then turns the commit into a
 * rollback, and node-postgres tells nobody. The README warns of it; a driver that changes shows here.
 */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import type { Executor } from '../../src/index.js';
import type { Driver } from '../support/drivers.js';
import { until } from '../support/until.js';
import { queue } from './app.js';
import type { UsedDriver } from './stage.js';
import { withWorker } from './worker-stage.js';

const told: { readonly [Name in Driver]: 'fulfilled' | 'rejected' } = {
  'postgres.js': 'rejected',
  'node-postgres': 'fulfilled',
  pglite: 'rejected',
};

const failAndGoOn = async (tx: Executor) => {
  const error = await Promise.resolve(tx.execute(sql`select 1 / 0`)).catch((error: unknown) => error);
  expect(sqlState(error)).toBe('22012');
};

export function swallowedTests(driver: Driver, used: UsedDriver): void {
  const payloads = () => used.read(sql`select payload from jobs`);

  it(`leaves no job, and the transaction is ${told[driver]}`, async () => {
    const [transaction] = await Promise.allSettled([
      used.db.transaction(async (tx) => {
        await queue.enqueue(tx, 'greet', 'lost');
        await failAndGoOn(tx);
      }),
    ]);
    expect(transaction?.status).toBe(told[driver]);
    expect(await payloads()).toEqual([]);
  });

  it('makes an enqueue after it reject', async () => {
    const states: unknown[] = [];
    await used.db
      .transaction(async (tx) => {
        await failAndGoOn(tx);
        const enqueues = [
          () => queue.enqueue(tx, 'greet', 'lost'),
          () => queue.enqueueMany(tx, [{ kind: 'greet', payload: 'lost' }]),
        ];
        for (const enqueue of enqueues) states.push(await enqueue().catch(sqlState));
      })
      .catch(() => {});
    expect(states).toEqual(['25P02', '25P02']);
    expect(await payloads()).toEqual([]);
  });

  it('does no harm in a savepoint', async () => {
    await used.db.transaction(async (tx) => {
      await queue.enqueue(tx, 'greet', 'before');
      await tx.transaction((savepoint) => savepoint.execute(sql`select 1 / 0`)).catch(() => {});
      await queue.enqueue(tx, 'greet', 'after');
    });
    expect(await payloads()).toEqual([{ payload: 'before' }, { payload: 'after' }]);
  });

  it('fails the attempt whose complete(tx) was before it', async () => {
    await queue.enqueue(used.db, 'task', { does: 'complete' });
    const seen = await withWorker(
      used,
      (_, job) =>
        used.db.transaction(async (tx) => {
          await job.complete(tx);
          if (job.attempt === 1) await failAndGoOn(tx);
        }),
      (seen) => until(() => seen.completed, { what: 'the next attempt' }).then(() => {}),
    );
    const code = told[driver] === 'fulfilled' ? { code: 'JOB_ROLLED_BACK' } : {};
    expect(seen.failed).toEqual([expect.objectContaining({ error: expect.objectContaining(code) })]);
    expect(seen.completed?.map(({ job }) => job.attempt)).toEqual([2]);
  });
}
