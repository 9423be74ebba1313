/**
 * Careless code in many transactions at once: enqueues that nobody awaits, timers that fire around the end, savepoints,
 * rollbacks. A job is there if and only if its enqueue resolved and its transaction, and every savepoint around it, stood.
 */
import { describe, expect, it } from 'vitest';
import { createTransactions } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { connect, networkedDrivers } from '../support/drivers.js';
import { queue } from './stage.js';

const database = useDatabase();

interface Enqueue {
  readonly n: number;
  /** Whether all around it stood; asked at the end. */
  readonly stands: () => boolean;
  readonly outcome: Promise<'in' | 'late'>;
}

describe.each(networkedDrivers)('on %s', (driver) => {
  it('no job is lost, and none is there that should not be', async () => {
    const { db, end } = await connect(driver, database.url);
    const { transaction, enqueue } = createTransactions(db, queue);
    const enqueues: Enqueue[] = [];
    const undo = new Error('undo it');
    const timers: Promise<void>[] = [];
    let late = 0;

    function add(stands: () => boolean): Promise<unknown> {
      const n = enqueues.length;
      const made = n % 3 === 0 ? enqueue('keep', n, { dedupeKey: `k${n}` }) : enqueue('keep', n);
      const outcome = made.then(
        () => 'in' as const,
        (error: { code?: unknown }) => {
          if (error.code !== 'TRANSACTION_ENDED') throw error;
          late++;
          return 'late' as const;
        },
      );
      outcome.catch(() => {}); // looked at below
      enqueues.push({ n, stands, outcome });
      return outcome;
    }

    /** What careless code does in one scope. */
    async function careless(seed: number, stands: () => boolean): Promise<void> {
      await add(stands);
      void add(stands);
      const fires = new Promise<void>((resolve) => setTimeout(resolve, seed % 7)).then(async () => {
        await add(stands);
      });
      fires.catch(() => {});
      timers.push(fires);
      if (seed % 2 === 0) void add(stands);
    }

    async function one(seed: number): Promise<void> {
      let stood = false;
      const outer = transaction(async () => {
        await careless(seed, () => stood);
        let innerStood = false;
        const inner = transaction(async () => {
          await careless(seed + 1, () => stood && innerStood);
          if (seed % 5 < 2) throw undo;
        });
        await inner.then(
          () => {
            innerStood = true;
          },
          (error: unknown) => expect(error).toBe(undo),
        );
        void add(() => stood);
        if (seed % 3 === 0) throw undo;
      });
      await outer.then(
        () => {
          stood = true;
        },
        (error: unknown) => expect(error).toBe(undo),
      );
    }

    try {
      await database.sql`truncate jobs`;
      // On a machine that is busy with other things the transactions take longer, and fewer enqueues come late.
      for (let round = 0; round < 20 || (late <= 10 && round < 400); round++) {
        await Promise.all(Array.from({ length: 10 }, (_, n) => one(round * 10 + n)));
      }
      await Promise.all(timers);
      const expected: number[] = [];
      for (const { n, stands, outcome } of enqueues) {
        if ((await outcome) === 'in' && stands()) expected.push(n);
      }
      const rows = await database.sql<{ n: number }[]>`select payload::int as n from jobs order by 1`;
      expect(rows.map(({ n }) => n)).toEqual(expected);
      expect(late).toBeGreaterThan(10);
      expect(expected.length).toBeGreaterThan(300);
    } finally {
      await end();
    }
  }, 60_000);
});
