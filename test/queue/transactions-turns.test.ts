/** Several callbacks of one transaction at once: none of them sends anything into the open savepoint of another. */
import { afterEach, describe, expect, it } from 'vitest';
import { createTransactions, type Transaction } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { createGate } from '../worker/gate.js';
import { queue } from './stage.js';

const database = useDatabase();
afterEach(async () => {
  await database.sql`truncate jobs`;
});

type App = ReturnType<typeof make>;
const make = () => createTransactions(database.db, queue);
const undo = new Error('undo it');

async function kept(): Promise<unknown[]> {
  const rows = await database.sql<{ payload: unknown }[]>`select payload from jobs order by id`;
  return rows.map(({ payload }) => payload);
}

/** A savepoint that is undone; others get their turn while it is open. */
function undone({ transaction, enqueue, current }: App, n: number, open: () => void): Promise<void> {
  return transaction(async () => {
    await enqueue('keep', n);
    open();
    await new Promise((resolve) => setImmediate(resolve));
    await current().execute('select 1');
    throw undo;
  });
}

describe('beside the open savepoint of another callback', () => {
  it.each<[what: string, send: (app: App) => Promise<unknown>]>([
    ['an enqueue', ({ enqueue }) => enqueue('keep', 2)],
    ['a savepoint', ({ transaction, enqueue }) => transaction(() => enqueue('keep', 2))],
  ])('%s of a second within() is not in that', async (_what, send) => {
    const app = make();
    const { within } = app;
    await database.db.transaction(async (tx) => {
      const { open, passed } = createGate();
      const [first, second] = await Promise.allSettled([
        within(tx, () => undone(app, 1, open)),
        within(tx, async () => {
          await passed;
          await send(app);
        }),
      ]);
      expect(first).toMatchObject({ status: 'rejected', reason: undo });
      expect(second).toMatchObject({ status: 'fulfilled' });
    });
    expect(await kept()).toEqual([2]);
  });

  it('an enqueue in within() of the current transaction is not in that', async () => {
    const app = make();
    const { transaction, within, enqueue } = app;
    await transaction(async (tx) => {
      const { open, passed } = createGate();
      await Promise.allSettled([
        undone(app, 1, open),
        within(tx, () => passed.then(() => enqueue('keep', 2))),
      ]);
    });
    expect(await kept()).toEqual([2]);
  });
});

describe('within() of the transaction around an open savepoint', () => {
  it('does not wait for that savepoint, and is in it', async () => {
    const { transaction, within, enqueue, current } = make();
    await transaction(async (tx) => {
      await enqueue('keep', 1);
      const inner = transaction(async () => {
        await within(tx, async () => {
          expect(current()).toBe(tx);
          await enqueue('keep', 2);
          await transaction(async (innermost) => {
            await enqueue('keep', 3);
            await within(tx, () => within(innermost, () => enqueue('keep', 4)));
          });
        });
        throw undo;
      });
      await expect(inner).rejects.toBe(undo);
      await enqueue('keep', 5);
    });
    expect(await kept()).toEqual([1, 5]);
  });

  it('takes turns with the calls of that savepoint', async () => {
    const app = make();
    const { transaction, within, enqueue } = app;
    await transaction(async (tx) => {
      await transaction(async () => {
        const { open, passed } = createGate();
        await Promise.allSettled([
          undone(app, 1, open),
          within(tx, () => passed.then(() => enqueue('keep', 2))),
        ]);
      });
    });
    expect(await kept()).toEqual([2]);
  });

  it('called after the end of that savepoint takes its turn in the transaction', async () => {
    const app = make();
    const { transaction, within, enqueue } = app;
    await transaction(async (tx) => {
      const over = createGate();
      let late: Promise<unknown> | undefined;
      await transaction(async () => {
        late = over.passed.then(() => within(tx, () => enqueue('keep', 2)));
      });
      await Promise.allSettled([undone(app, 1, over.open), late]);
    });
    expect(await kept()).toEqual([2]);
  });
});

it('the end of a transaction waits for a within() that nobody awaited', async () => {
  const { transaction, within, enqueue } = make();
  await transaction(async (tx: Transaction) => {
    void within(tx, async () => {
      for (const n of [1, 2, 3]) {
        await new Promise((resolve) => setImmediate(resolve));
        await enqueue('keep', n);
      }
    });
  });
  expect(await kept()).toEqual([1, 2, 3]);
});

it('transactions do not wait for each other', async () => {
  const { transaction, within, enqueue, current, outside } = make();
  await transaction(async () => {
    await enqueue('keep', 1);
    const done = await outside(() =>
      transaction(async (other) => {
        await enqueue('keep', 2);
        return other;
      }),
    );
    expect(done).not.toBe(current());
    await database.db.transaction((other) => within(other, () => enqueue('keep', 3)));
  });
  expect(await kept()).toEqual([1, 2, 3]);
});
