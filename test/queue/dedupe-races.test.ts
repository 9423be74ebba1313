/** Dedupe keys against others: open transactions, finishes, claims, lists in another order, other isolation levels. */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterEach, describe, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { createQueue, defineJobs, type Executor, job } from '../../src/index.js';
import { claim } from '../../src/sql/claim.js';
import { createWorker } from '../../src/worker.js';
import { withClients } from '../support/clients.js';
import { useDatabase } from '../support/database.js';
import { finish } from '../support/finish.js';
import { given, row, table } from '../support/jobs.js';
import { until } from '../support/until.js';

const database = useDatabase();
const registry = defineJobs({
  reindex: job<{ course: number }>({ dedupeKey: ({ course }) => `course ${course}` }),
  refresh: job<{ n: number }>({ dedupeKey: () => 'all', onDuplicate: 'replace' }),
});
const queue = createQueue(registry);
const reindex = (db: Executor, course = 1) => queue.enqueue(db, 'reindex', { course });

afterEach(async () => {
  await database.sql`truncate jobs`;
});

async function untilWaiting(count: number): Promise<void> {
  await until(
    async () => {
      const waiting = await database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return waiting.length === count;
    },
    { what: `${count} to wait` },
  );
}

const left = () => database.sql<{ id: number; state: string }[]>`
  select id::float8 as id, state from jobs order by id`;

/** Runs `work` in an open transaction of a client of its own, which is then ended as it says. */
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
        await untilWaiting(1);
        if (end === 'rollback') tx.rollback();
      })
      .catch((error: unknown) => {
        if (end === 'commit') throw error;
      });
    if (!result) throw new Error('The transaction did not begin.');
    return result;
  });
}

const waysOf = (course: number) => ({
  enqueue: (db: Executor) => reindex(db, course),
  enqueueMany: async (db: Executor) => {
    const list = [course, course + 1].map((n) => ({ kind: 'reindex', payload: { course: n } }) as const);
    return (await queue.enqueueMany(db, list))[0];
  },
  replace: (db: Executor) => queue.enqueue(db, 'reindex', { course }, { onDuplicate: 'replace' }),
});

describe.each(Object.entries(waysOf(1)))('while another transaction has the key, %s', (_, enqueue) => {
  it('inserts when that is rolled back', async () => {
    const answer = await whileOpen(reindex, 'rollback', () => enqueue(database.db));
    expect(answer).toMatchObject({ duplicate: false });
    expect((await left())[0]).toEqual({ id: answer?.id, state: 'available' });
  });

  it('names the job of that when it commits, though it began before there was one', async () => {
    let first = 0;
    const begun = async (tx: Executor) => {
      first = (await reindex(tx)).id;
    };
    const answer = await whileOpen(begun, 'commit', () => enqueue(database.db));
    expect(answer).toEqual({ id: first, duplicate: true });
  });

  it('inserts when that ends the job which had it', async () => {
    const id = await given(database.sql).running({ kind: 'reindex', dedupeKey: 'course 1' });
    const ends = (tx: Executor) => tx.execute(sql`delete from jobs where id = ${id}::bigint`);
    const answer = await whileOpen(ends, 'commit', () => enqueue(database.db));
    expect(answer).toMatchObject({ duplicate: false });
    expect(answer?.id).not.toBe(id);
  });
});

it('of five callers whose transactions are rolled back but for one, that one has its job', async () => {
  await withClients(database.url, 5, async (clients) => {
    const answers = await Promise.allSettled(
      clients.map((client, n) =>
        client.transaction(async (tx) => {
          const answer = await reindex(tx);
          if (n < 4) throw new Error('no');
          return answer;
        }),
      ),
    );
    const kept = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    expect(kept).toEqual([{ id: expect.any(Number), duplicate: false }]);
    expect(await left()).toEqual([{ id: kept[0]?.id, state: 'available' }]);
  });
});

describe.each(['repeatable read', 'serializable'] as const)('under %s', (isolationLevel) => {
  it.each(Object.entries(waysOf(1)))(
    '%s fails with 40001 on a job that it cannot see',
    async (_, enqueue) => {
      const refused = database.db.transaction(
        async (tx) => {
          await tx.execute(sql`select 1 from jobs`); // takes the snapshot
          await reindex(database.db);
          await enqueue(tx);
        },
        { isolationLevel },
      );
      expect(sqlState(await refused.catch((error: unknown) => error))).toBe('40001');
      expect(await left()).toHaveLength(1);
    },
  );

  it('names a job that it sees', async () => {
    const { id } = await reindex(database.db);
    const answer = database.db.transaction((tx) => reindex(tx), { isolationLevel });
    await expect(answer).resolves.toEqual({ id, duplicate: true });
  });
});

describe('lists', () => {
  it('in opposite order, of several statements each, do not deadlock', async () => {
    const courses = Array.from({ length: 6_000 }, (_, n) => n);
    const shuffled = (seed: number) =>
      courses
        .map((course) => ({ course, at: (course * 7_919 + seed * 104_729) % 6_007 }))
        .sort((a, b) => a.at - b.at)
        .map(({ course }) => ({ kind: 'reindex', payload: { course } }) as const);
    await withClients(database.url, 4, async (clients) => {
      const answers = await Promise.all(
        clients.map((client, n) => {
          const list = n === 0 ? shuffled(0).reverse() : shuffled(n);
          return queue.enqueueMany(client, list);
        }),
      );
      expect(answers.flat().filter(({ duplicate }) => !duplicate)).toHaveLength(6_000);
      expect(new Set(answers.flat().map(({ id }) => id)).size).toBe(6_000);
    });
    expect(await left()).toHaveLength(6_000);
  });

  it('whose keys are skipped by the one and replaced by the other do not deadlock', async () => {
    const list = (from: number, step: number) =>
      Array.from({ length: 40 }, (_, n) => ({
        kind: 'reindex' as const,
        payload: { course: from + step * n },
        onDuplicate: n % 2 === 0 ? ('skip' as const) : ('replace' as const),
      }));
    await withClients(database.url, 4, async (clients) => {
      for (let round = 0; round < 10; round++) {
        await Promise.all(clients.map((db, n) => queue.enqueueMany(db, n % 2 ? list(40, -1) : list(1, 1))));
      }
    });
    expect(await left()).toHaveLength(40);
  });
});

it('no handler of a job that is replaced while it is claimed sees another payload than its row', async () => {
  await withClients(database.url, 2, async ([enqueuer, claimer]) => {
    if (!enqueuer || !claimer) throw new Error('Two clients are needed.');
    const seen = { replaced: 0, running: 0 };
    for (let n = 1; n <= 200; n++) {
      const { id } = await queue.enqueue(database.db, 'refresh', { n: 0 });
      const request = { want: new Map([['default', 1]]), kinds: ['refresh'], lockedBy: `worker/${n}` };
      const [answer, { jobs }] = await Promise.all([
        queue.enqueue(enqueuer, 'refresh', { n }),
        claim(claimer, table, request),
      ]);
      expect(answer).toEqual({ id, duplicate: true });
      const [claimed] = jobs.length > 0 ? jobs : (await claim(claimer, table, request)).jobs;
      const stored = await row(database.sql, id);
      expect(claimed).toMatchObject({ id, payload: stored?.payload });
      seen[JSON.stringify(stored?.payload) === JSON.stringify({ n }) ? 'replaced' : 'running']++;
      await finish(database.db, table, [{ id, lockedBy: request.lockedBy, outcome: { move: 'complete' } }]);
    }
    expect(Math.min(seen.replaced, seen.running)).toBeGreaterThan(0);
  });
});

it.each([
  ['skip', 10_000],
  ['replace', 2_000],
] as const)(
  'eight clients that %s, over 100 keys, %i jobs while workers finish them always get a job',
  async (onDuplicate, jobs) => {
    const runs = new Map<number, number>();
    const overlaps: number[] = [];
    const ran = new Set<number>();
    const workers = [1, 2].map(() =>
      createWorker({
        db: database.db,
        registry,
        queues: { default: 40 },
        log: false,
        handlers: {
          reindex: async ({ course }, { id }) => {
            if ((runs.get(course) ?? 0) > 0) overlaps.push(course);
            runs.set(course, (runs.get(course) ?? 0) + 1);
            await delay(2);
            runs.set(course, (runs.get(course) ?? 0) - 1);
            ran.add(id);
          },
          refresh: async () => {},
        },
      }),
    );
    await Promise.all(workers.map((worker) => worker.start()));
    try {
      const answers = await withClients(database.url, 8, (clients) =>
        Promise.all(
          clients.map(async (db, client) => {
            const own: { id: number; duplicate: boolean }[] = [];
            for (let n = 0; n < jobs / 8; n++) {
              const course = (n * 31 + client * 17) % 100;
              own.push(await queue.enqueue(db, 'reindex', { course }, { onDuplicate }));
            }
            return own;
          }),
        ),
      );
      await until(async () => (await left()).length === 0, { what: 'all jobs to end', timeoutMs: 20_000 });
      const inserted = answers.flat().filter(({ duplicate }) => !duplicate);
      expect(answers.flat()).toHaveLength(jobs);
      expect(new Set(inserted.map(({ id }) => id)).size).toBe(inserted.length);
      expect([...ran].sort()).toEqual(inserted.map(({ id }) => id).sort());
      expect(answers.flat().filter(({ id }) => !ran.has(id))).toEqual([]);
      expect(inserted.length).toBeLessThan(jobs);
      expect(overlaps).toEqual([]);
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()));
    }
  },
  120_000,
);
