/** `createTransactions`: what is refused, and which transaction is the current one where several are. */
import { sql } from 'drizzle-orm';
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, createTransactions, type Executor, type Transaction } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { createGate } from '../worker/gate.js';
import { logged, queue, registry } from './stage.js';

const database = useDatabase();
afterEach(async () => {
  await database.sql`truncate jobs`;
});

async function kept(): Promise<unknown[]> {
  const rows = await database.sql<{ payload: unknown }[]>`select payload from jobs order by id`;
  return rows.map(({ payload }) => payload);
}

const make = () => createTransactions(database.db, queue);

describe('what it is given', () => {
  const call = (...given: readonly unknown[]) => Reflect.apply(createTransactions, undefined, given);

  it.each<[what: string, given: () => readonly unknown[], code: string, said: RegExp]>([
    ['no database', () => [undefined, queue], 'INVALID_EXECUTOR', /Expected a Drizzle database/],
    ['no queue', () => [database.db, {}], 'INVALID_OPTION', /`queue` to be what createQueue/],
    ['an option', () => [database.db, queue, { require: true }], 'INVALID_OPTION', /"require" in createTr/],
    ['a wrong one', () => [database.db, queue, { requireTransaction: 1 }], 'INVALID_OPTION', /true or false/],
  ])('is checked: %s', (_what, given, code, said) => {
    expect(() => call(...given())).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(said) }),
    );
  });

  it('is no strict queue, where enqueues may go to the database', () => {
    const strict = createQueue(registry, { requireTransaction: true });
    expect(() => call(database.db, strict, { requireTransaction: false })).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: expect.stringContaining('queue that was made with `requireTransaction: true`'),
      }),
    );
    call(database.db, strict, { requireTransaction: true });
  });

  it('is no transaction', async () => {
    await database.db.transaction(async (tx) => {
      expect(() => call(tx, queue)).toThrow(expect.objectContaining({ code: 'INVALID_EXECUTOR' }));
    });
  });

  it('a transaction’s callback, and within’s transaction, are checked as well', async () => {
    const { transaction, within } = make();
    await expect(Reflect.apply(transaction, undefined, ['run'])).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
    const work = async () => {};
    for (const [tx, code] of [
      [database.db, 'TRANSACTION_REQUIRED'],
      [{}, 'INVALID_EXECUTOR'],
    ]) {
      await expect(Reflect.apply(within, undefined, [tx, work])).rejects.toMatchObject({ code });
    }
  });
});

describe('outside of every transaction', () => {
  it('an enqueue and current() are refused, before any SQL', async () => {
    const { db, statements } = logged(database.db.$client);
    const { enqueue, enqueueMany, current } = createTransactions(db, queue);
    const refused = { code: 'TRANSACTION_REQUIRED', message: expect.stringContaining('inside transaction(') };
    await expect(enqueue('ping')).rejects.toMatchObject(refused);
    await expect(enqueueMany([{ kind: 'ping' }])).rejects.toMatchObject(refused);
    expect(() => current()).toThrow(expect.objectContaining(refused));
    expect(statements).toEqual([]);
  });

  it('with requireTransaction: false they commit at once, and current() is the database', async () => {
    const { enqueue, enqueueMany, current } = createTransactions(database.db, queue, {
      requireTransaction: false,
    });
    await enqueue('keep', 1);
    await enqueueMany([{ kind: 'keep', payload: 2 }]);
    expect(current()).toBe(database.db);
    expect(await kept()).toEqual([1, 2]);
  });
});

describe('the current transaction', () => {
  it('is that of each call, where many are open at once', async () => {
    const { transaction, enqueue } = make();
    const all = Array.from({ length: 8 }, (_, n) =>
      transaction(async (tx) => {
        await enqueue('keep', n);
        await tx.execute(sql`select pg_sleep(0.01)`);
        await enqueue('keep', n + 100);
        if (n % 2 === 1) tx.rollback();
      }).catch(() => {}),
    );
    await Promise.all(all);
    expect((await kept()).sort()).toEqual([0, 100, 102, 104, 106, 2, 4, 6]);
  });

  it('is the same for several queues of one database', async () => {
    const { transaction, current } = make();
    const other = createTransactions(database.db, createQueue(registry, { maxPayloadBytes: 100 }));
    const undone = transaction(async () => {
      await other.enqueue('keep', 'by the other');
      expect(other.current()).toBe(current());
      throw new Error('undo it');
    });
    await expect(undone).rejects.toThrow('undo it');
    expect(await kept()).toEqual([]);
  });

  it('is another one of another database', async () => {
    const { transaction } = make();
    const { db } = logged(database.db.$client);
    const other = createTransactions(db, queue);
    await transaction(async () => {
      await expect(other.enqueue('ping')).rejects.toMatchObject({ code: 'TRANSACTION_REQUIRED' });
    });
  });

  it('serves the queries and moves of deep code', async () => {
    const { transaction, enqueue, current } = make();
    await transaction(async () => {
      const { id } = await enqueue('keep', 1);
      await enqueue('keep', 2);
      expect(await queue.remove(current(), id)).toMatchObject({ result: 'done' });
    });
    expect(await kept()).toEqual([2]);
  });

  it('takes a config where it is the outermost, and none inside', async () => {
    const { transaction } = make();
    const isolation = async (tx: Executor) =>
      tx.execute(sql`select current_setting('transaction_isolation') as level`);
    const config = { isolationLevel: 'serializable' } as const;
    expect(await transaction(isolation, config)).toMatchObject([{ level: 'serializable' }]);
    await transaction(async () => {
      await expect(transaction(isolation, config)).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining('of which this is a savepoint'),
      });
    });
  });
});

it('a queue that takes a savepoint for an enqueue does not wait for itself', async () => {
  const savepoints: typeof queue = {
    ...queue,
    enqueue: (tx, kind, ...args) => tx.transaction((inner: Executor) => queue.enqueue(inner, kind, ...args)),
  };
  const { transaction, enqueue } = createTransactions(database.db, savepoints);
  await transaction(() => enqueue('keep', 1));
  expect(await kept()).toEqual([1]);
});

describe('within', () => {
  it('makes a transaction of others the current one, for as long as the work takes', async () => {
    const { within, enqueue, current } = make();
    let late: Promise<unknown> | undefined;
    const over = createGate();
    const undone = database.db.transaction(async (tx) => {
      expect(await within(tx, async () => current() === tx)).toBe(true);
      await within(tx, async () => {
        await enqueue('keep', 1);
        late = over.passed.then(() => enqueue('keep', 'late'));
        late.catch(() => {});
      });
      over.open();
      await expect(late).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
      await expect(enqueue('keep', 2)).rejects.toMatchObject({ code: 'TRANSACTION_REQUIRED' });
      expect(await tx.execute(sql`select count(*)::int as n from jobs`)).toMatchObject([{ n: 1 }]);
      throw new Error('undo it');
    });
    await expect(undone).rejects.toThrow('undo it');
    expect(await kept()).toEqual([]);
  });
});

describe('outside', () => {
  it('stands though the transaction around it is rolled back', async () => {
    const { transaction, outside, enqueue } = make();
    const undone = transaction(async () => {
      await enqueue('keep', 'undone');
      await outside(() => transaction(() => enqueue('keep', 'stands')));
      await expect(outside(() => enqueue('keep', 'refused'))).rejects.toMatchObject({
        code: 'TRANSACTION_REQUIRED',
      });
      await enqueue('keep', 'undone as well');
      throw new Error('undo it');
    });
    await expect(undone).rejects.toThrow('undo it');
    expect(await kept()).toEqual(['stands']);
  });
});

describe('at the end of a transaction', () => {
  it('what was begun and not awaited is part of it, savepoints as well', async () => {
    const { transaction, enqueue, enqueueMany } = make();
    await transaction(async (tx) => {
      void enqueue('keep', 1, { dedupeKey: 'k' });
      void enqueueMany([{ kind: 'keep', payload: 2 }]);
      void tx.transaction(() => enqueue('keep', 3));
    });
    expect((await kept()).sort()).toEqual([1, 2, 3]);
  });

  it('it is also waited for where the callback throws, so that nothing comes after the rollback', async () => {
    const { transaction, enqueue } = make();
    const undone = transaction(async (tx) => {
      void tx.transaction(async () => {
        for (const n of [1, 2, 3, 4]) await enqueue('keep', n);
      });
      throw new Error('undo it');
    });
    await expect(undone).rejects.toThrow('undo it');
    expect(await kept()).toEqual([]);
  });

  it('a fault of it rolls the transaction back', async () => {
    const { transaction, enqueue } = make();
    let fault: Promise<unknown> | undefined;
    const undone = transaction(async (tx: Transaction) => {
      await enqueue('keep', 1);
      await tx.execute(sql`set local statement_timeout = 1`);
      // Nobody awaits it in time, which must not end the process: the transaction tells of it.
      fault = tx.transaction(async (inner: Executor) => {
        await inner.execute(sql`select pg_sleep(1)`);
      });
    });
    await expect(undone).rejects.toThrow(/statement timeout|Failed query/);
    await expect(fault).rejects.toThrow();
    expect(await kept()).toEqual([]);
  });

  it('a fault of an enqueue as well', async () => {
    const { transaction, enqueue } = make();
    await database.sql`alter table jobs add constraint no_seven check (payload <> '7')`;
    try {
      const undone = transaction(async () => {
        await enqueue('keep', 6);
        void enqueue('keep', 7);
      });
      await expect(undone).rejects.toMatchObject({ cause: { code: '23514' } });
    } finally {
      await database.sql`alter table jobs drop constraint no_seven`;
    }
    expect(await kept()).toEqual([]);
  });

  it('calls that come later are refused: enqueues, transactions and current()', async () => {
    const { transaction, enqueue, enqueueMany, current, outside } = make();
    const over = createGate();
    const calls: readonly (() => Promise<unknown>)[] = [
      () => enqueue('keep', 1),
      () => enqueueMany([{ kind: 'keep', payload: 2 }]),
      () => transaction(() => enqueue('keep', 3)),
      async () => current(),
    ];
    let late: Promise<unknown>[] = [];
    let apart: Promise<unknown> | undefined;
    await transaction(async () => {
      late = calls.map((call) => over.passed.then(call));
      apart = over.passed.then(() => outside(() => transaction(() => enqueue('keep', 'apart'))));
    });
    const settled = Promise.allSettled(late);
    over.open();
    const ended = { status: 'rejected', reason: { code: 'TRANSACTION_ENDED' } };
    expect(await settled).toMatchObject([ended, ended, ended, ended]);
    await apart;
    expect(await kept()).toEqual(['apart']);
  });

  it('calls of a savepoint that is over are refused, though the transaction is not', async () => {
    const { transaction, enqueue } = make();
    await transaction(async (tx) => {
      const over = createGate();
      let late: Promise<unknown> | undefined;
      await tx.transaction(async () => {
        late = over.passed.then(() => enqueue('keep', 'late'));
        late.catch(() => {});
      });
      over.open();
      await expect(late).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
      await enqueue('keep', 'in time');
    });
    expect(await kept()).toEqual(['in time']);
  });
});
