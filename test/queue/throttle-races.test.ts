/** Throttles against others: open transactions, workers that finish at once, lists, other isolation levels, tidying up. */
import { sql } from 'drizzle-orm';
import { afterEach, describe, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { tableName } from '../../src/database/table-name.js';
import { createQueue, defineJobs, type Executor, job } from '../../src/index.js';
import { jobThrottle } from '../../src/schema.js';
import { deleteThrottles } from '../../src/sql/delete-throttles.js';
import { createWorker } from '../../src/worker.js';
import { withClients } from '../support/clients.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';

const database = useDatabase();
const registry = defineJobs({
  refresh: job<{ n: number }>({ dedupeKey: () => 'all', onDuplicate: 'throttle', periodMs: 3_600_000 }),
  other: job<{ n: number }>({ onDuplicate: 'throttle', periodMs: 3_600_000 }),
});
const queue = createQueue(registry);
const refresh = (db: Executor) => queue.enqueue(db, 'refresh', { n: 1 });
const throttle = tableName(jobThrottle);

afterEach(async () => {
  await database.sql`truncate jobs, job_throttle`;
});

const count = async () => (await database.sql`select 1 from jobs`).length;

/** Runs `begun` in an open transaction, `meanwhile` while that is open, and then ends it as said. */
async function whileOpen<Result>(
  begun: (tx: Executor) => PromiseLike<unknown>,
  end: 'commit' | 'rollback',
  meanwhile: () => Promise<Result>,
): Promise<Result> {
  return withClients(database.url, 1, async ([client]) => {
    if (!client) throw new Error('A client is needed.');
    let result: Promise<Result> | undefined;
    await client
      .transaction(async (tx) => {
        await begun(tx);
        result = meanwhile();
        result.catch(() => {}); // seen below
        await until(
          async () =>
            (
              await database.sql`
                select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
            ).length === 1,
          { what: 'one to wait' },
        );
        if (end === 'rollback') tx.rollback();
      })
      .catch((error: unknown) => {
        if (end === 'commit') throw error;
      });
    if (!result) throw new Error('The transaction did not begin.');
    return result;
  });
}

/** A row for the key is there from an earlier period, or none. */
describe.each([
  ['the first time', () => {}],
  [
    'the second time',
    () => database.sql`insert into job_throttle (kind, key, until) values ('refresh', 'all', now())`,
  ],
])('while another transaction has the period, %s', (_, prepare) => {
  it('comes when that is rolled back', async () => {
    await prepare();
    const answer = await whileOpen(refresh, 'rollback', () => refresh(database.db));
    expect(answer).toMatchObject({ duplicate: false });
    expect(await database.sql`select id::float8 as id from jobs`).toEqual([{ id: answer.id }]);
  });

  it('names the job of that when it commits', async () => {
    await prepare();
    let id = 0;
    const begun = async (tx: Executor) => {
      id = (await refresh(tx)).id;
    };
    expect(await whileOpen(begun, 'commit', () => refresh(database.db))).toEqual({ id, duplicate: true });
  });

  it('names it also where that job has ended in that very transaction', async () => {
    await prepare();
    let id = 0;
    const begun = async (tx: Executor) => {
      id = (await refresh(tx)).id;
      await tx.execute(sql`delete from jobs`);
    };
    expect(await whileOpen(begun, 'commit', () => refresh(database.db))).toEqual({ id, duplicate: true });
    expect(await count()).toBe(0);
  });
});

it('waits for one that adds a job of the key without a throttle, and names that', async () => {
  let id = 0;
  const begun = async (tx: Executor) => {
    id = (await queue.enqueue(tx, 'refresh', { n: 1 }, { onDuplicate: 'skip' })).id;
  };
  expect(await whileOpen(begun, 'commit', () => refresh(database.db))).toEqual({ id, duplicate: true });
  expect(await database.sql`select 1 from job_throttle where until > now()`).toEqual([]);
});

it.each(['repeatable read', 'serializable'] as const)(
  'under %s fails with 40001 on a period that it cannot see',
  async (isolationLevel) => {
    await database.sql`insert into job_throttle (kind, key, until) values ('refresh', 'all', now())`;
    const refused = database.db.transaction(
      async (tx) => {
        await tx.execute(sql`select 1 from jobs, job_throttle`); // takes the snapshot
        await refresh(database.db);
        await refresh(tx);
      },
      { isolationLevel },
    );
    expect(sqlState(await refused.catch((error: unknown) => error))).toBe('40001');
    expect(await count()).toBe(1);
  },
);

it('of eight clients with fifty keys each key gets one job, though workers end it at once', async () => {
  const ran = new Map<number, number>();
  const worker = createWorker({
    db: database.db,
    registry,
    queues: { default: 50 },
    log: false,
    handlers: {
      refresh: () => {},
      other: ({ n }) => {
        ran.set(n, (ran.get(n) ?? 0) + 1);
      },
    },
  });
  await worker.start();
  try {
    const answers = await withClients(database.url, 8, (clients) =>
      Promise.all(
        clients.map(async (db, client) => {
          const own: { n: number; id: number; duplicate: boolean }[] = [];
          for (let i = 0; i < 200; i++) {
            const n = (i * 7 + client * 3) % 50;
            const dedupeKey = `key ${n}`;
            // In turn by itself, in a transaction, and in one that is rolled back.
            if (i % 3 === 0) own.push({ n, ...(await queue.enqueue(db, 'other', { n }, { dedupeKey })) });
            else if (i % 3 === 1) {
              const answer = await db.transaction((tx) => queue.enqueue(tx, 'other', { n }, { dedupeKey }));
              own.push({ n, ...answer });
            } else {
              await db
                .transaction(async (tx) => {
                  await queue.enqueue(tx, 'other', { n }, { dedupeKey });
                  throw new Error('no');
                })
                .catch((error: Error) => {
                  if (error.message !== 'no') throw error;
                });
            }
          }
          return own;
        }),
      ),
    );
    await until(async () => (await count()) === 0, { what: 'all jobs to end', timeoutMs: 20_000 });
    const inserted = answers.flat().filter(({ duplicate }) => !duplicate);
    expect(inserted).toHaveLength(50);
    const idOf = new Map(inserted.map(({ n, id }) => [n, id]));
    expect(answers.flat().filter(({ n, id }) => idOf.get(n) !== id)).toEqual([]);
    expect([...ran.values()]).toEqual(Array(50).fill(1));
  } finally {
    await worker.stop();
  }
}, 60_000);

it('in short periods no more come than there are periods', async () => {
  const clock = async () => {
    const [now] = await database.sql<[{ ms: number }]>`
      select extract(epoch from clock_timestamp())::float8 * 1000 as ms`;
    return now.ms;
  };
  const began = await clock();
  const answers = await withClients(database.url, 6, (clients) =>
    Promise.all(
      clients.map(async (db) => {
        const own: number[] = [];
        for (let i = 0; i < 150; i++) {
          const options = { dedupeKey: 'k', periodMs: 40 };
          const { id, duplicate } = await queue.enqueue(db, 'other', { n: i }, options);
          if (!duplicate) {
            own.push(id);
            await db.execute(
              sql`update jobs set state = 'completed', finished_at = clock_timestamp() where id = ${id}`,
            );
          }
        }
        return own;
      }),
    ),
  );
  const periods = ((await clock()) - began) / 40;
  expect(answers.flat().length).toBeGreaterThan(1);
  expect(answers.flat().length - 1).toBeLessThanOrEqual(periods);
}, 60_000);

it('lists in opposite order do not deadlock', async () => {
  const list = (from: number, step: number) =>
    Array.from({ length: 30 }, (_, n) => {
      const key = from + step * n;
      const periodMs = key % 2 === 0 ? 1 : 3_600_000;
      return { kind: 'other' as const, payload: { n }, dedupeKey: `key ${key}`, periodMs };
    });
  await withClients(database.url, 4, async (clients) => {
    for (let round = 0; round < 10; round++) {
      await Promise.all(clients.map((db, n) => queue.enqueueMany(db, n % 2 ? list(30, -1) : list(1, 1))));
    }
  });
  expect(await count()).toBe(30);
});

describe('rows of periods that are over', () => {
  it('are deleted, but for those that somebody is about to take', async () => {
    await database.sql`
      insert into job_throttle (kind, key, until)
      select 'other', 'key ' || i, now() - i * interval '100 s' from generate_series(1, 10) as i`;
    await whileOpenAlone(
      (tx) => queue.enqueue(tx, 'other', { n: 1 }, { dedupeKey: 'key 9' }),
      async () => {
        expect(await deleteThrottles(database.db, throttle, 450)).toBe(5); // 5, 6, 7, 8 and 10
      },
    );
    const left = await database.sql<{ key: string }[]>`select key from job_throttle order by until`;
    expect(left.map(({ key }) => key)).toEqual(['key 4', 'key 3', 'key 2', 'key 1', 'key 9']);
    expect(await deleteThrottles(database.db, throttle, 450)).toBe(0);
  });

  it('a thousand in a statement, the oldest first', async () => {
    await database.sql`
      insert into job_throttle (kind, key, until)
      select 'other', 'key ' || i, now() - i * interval '1 s' from generate_series(1, 1500) as i`;
    expect(await deleteThrottles(database.db, throttle, 0)).toBe(1_000);
    const [left] =
      await database.sql`select count(*)::int as n, max(now() - until) < interval '502 s' as young from job_throttle`;
    expect(left).toEqual({ n: 500, young: true });
    expect(await deleteThrottles(database.db, throttle, 0)).toBe(500);
  });

  it('while enqueues take them: nobody fails, and no key has two jobs', async () => {
    await database.sql`
      insert into job_throttle (kind, key, until) select 'other', 'key ' || i, now() - interval '1 h' from generate_series(0, 99) as i`;
    await withClients(database.url, 6, async ([tidy, ...clients]) => {
      if (!tidy) throw new Error('A client is needed.');
      let over = false;
      const tidying = (async () => {
        while (!over) await deleteThrottles(tidy, throttle, 0);
      })();
      const answers = await Promise.all(
        clients.map(async (db) => {
          const own: { duplicate: boolean }[] = [];
          for (let n = 0; n < 100; n++)
            own.push(await queue.enqueue(db, 'other', { n }, { dedupeKey: `key ${n}` }));
          return own;
        }),
      );
      over = true;
      await tidying;
      expect(answers.flat().filter(({ duplicate }) => !duplicate)).toHaveLength(100);
    });
    expect(await count()).toBe(100);
  });
});

async function whileOpenAlone(
  begun: (tx: Executor) => PromiseLike<unknown>,
  meanwhile: () => Promise<void>,
): Promise<void> {
  await withClients(database.url, 1, async ([client]) => {
    await client?.transaction(async (tx) => {
      await begun(tx);
      await meanwhile();
    });
  });
}
