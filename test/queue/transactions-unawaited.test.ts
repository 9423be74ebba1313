/** What nobody awaited, and failed before the end of its callback: the transaction tells, unless somebody asked. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createTransactions } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { queue } from './stage.js';

const database = useDatabase();
const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
let others: NodeJS.UnhandledRejectionListener[] = [];
beforeAll(() => {
  others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
});
afterAll(() => {
  process.removeListener('unhandledRejection', note);
  for (const listener of others) process.on('unhandledRejection', listener);
});
afterEach(async () => {
  unhandled.length = 0;
  await database.sql`truncate jobs`;
});

const make = () => createTransactions(database.db, queue);
const refused = { code: 'INVALID_PAYLOAD' };
/** Node tells of unhandled rejections before the next of these. */
const aTurn = () => new Promise((resolve) => setImmediate(resolve));

async function kept(): Promise<unknown[]> {
  const rows = await database.sql<{ payload: unknown }[]>`select payload from jobs order by id`;
  return rows.map(({ payload }) => payload);
}

describe('that nobody asked for', () => {
  const ways: readonly [what: string, begin: (app: ReturnType<typeof make>) => Promise<unknown>][] = [
    ['an enqueue', ({ enqueue }) => enqueue('keep', Number.NaN)],
    ['a list', ({ enqueueMany }) => enqueueMany([{ kind: 'keep', payload: Number.NaN }])],
    ['a savepoint', ({ transaction, enqueue }) => transaction(() => enqueue('keep', Number.NaN))],
    [
      'a savepoint of its own',
      ({ current, enqueue }) => current().transaction(() => enqueue('keep', Number.NaN)),
    ],
    ['a within', ({ within, current, enqueue }) => within(current(), () => enqueue('keep', Number.NaN))],
  ];

  it.each(ways)('%s ends the transaction, and not the process', async (_what, begin) => {
    const app = make();
    const undone = app.transaction(async () => {
      await app.enqueue('keep', 1);
      void begin(app);
      await app.enqueue('keep', 2);
      await aTurn();
    });
    await expect(undone).rejects.toMatchObject(refused);
    await aTurn();
    expect(unhandled).toEqual([]);
    expect(await kept()).toEqual([]);
  });

  it('ends the savepoint that it was in, and what is around it may stand', async () => {
    const { transaction, enqueue } = make();
    await transaction(async () => {
      await enqueue('keep', 1);
      const inner = transaction(async () => {
        await enqueue('keep', 2);
        void enqueue('keep', Number.NaN);
        await aTurn();
      });
      await expect(inner).rejects.toMatchObject(refused);
    });
    expect(await kept()).toEqual([1]);
    expect(unhandled).toEqual([]);
  });

  it('in time ends the transaction too, where a function of the app did ask', async () => {
    const { transaction, enqueue } = make();
    let placed: Promise<void> | undefined;
    async function place(): Promise<void> {
      await enqueue('keep', Number.NaN);
    }
    const undone = transaction(async () => {
      await enqueue('keep', 1);
      placed = place();
      placed.catch(() => {});
    });
    await expect(undone).rejects.toMatchObject(refused);
    expect(await kept()).toEqual([]);
  });

  it('does not hide the error of the callback', async () => {
    const { transaction, enqueue } = make();
    const undone = transaction(async () => {
      void enqueue('keep', Number.NaN);
      await aTurn();
      throw new Error('undo it');
    });
    await expect(undone).rejects.toThrow('undo it');
    expect(unhandled).toEqual([]);
  });
});

describe('that somebody asked for', () => {
  it.each<[how: string, ask: (failing: Promise<unknown>) => Promise<unknown>]>([
    [
      'later',
      async (failing) =>
        aTurn()
          .then(() => failing)
          .catch(() => {}),
    ],
    ['by catch', async (failing) => void failing.catch(() => {})],
    ['in a list', (failing) => Promise.allSettled([failing])],
  ])('%s leaves the transaction as it is', async (_how, ask) => {
    const { transaction, enqueue } = make();
    await transaction(async () => {
      await enqueue('keep', 1);
      await ask(enqueue('keep', Number.NaN));
      await enqueue('keep', 2);
    });
    expect(await kept()).toEqual([1, 2]);
    expect(unhandled).toEqual([]);
  });

  it('is a promise as any other, of which others come', async () => {
    const { transaction, enqueue } = make();
    await transaction(async () => {
      const given = enqueue('keep', 1);
      expect(given).toBeInstanceOf(Promise);
      const next = given.then(({ duplicate }) => duplicate);
      expect(next.constructor).toBe(Promise);
      expect(await next).toBe(false);
    });
  });
});
