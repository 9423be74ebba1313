/** `drizzle-queue/testing`: jobs run inside a transaction, of which nothing is left. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import type { Database, Handlers } from '../../src/index.js';
import { advance, assertEnqueued, drain, enqueued, rolledBack } from '../../src/testing.js';
import { queue, registry } from './app.js';
import type { UsedDriver } from './stage.js';

/** As an app makes its handlers; in tests `db` is the test's transaction. */
function handlersOf(db: Pick<Database, 'execute' | 'transaction'>): Handlers<typeof registry, 'task'> {
  return {
    task: async ({ does }, job) => {
      await db.execute(
        sql`insert into jobs (kind, payload) values ('note', ${JSON.stringify(does)}::text::jsonb)`,
      );
      if (does === 'complete') return db.transaction((tx) => job.complete(tx));
      if (does === 'snooze once' && job.attempt === 1) return job.snooze({ delayMs: 60_000 });
      if (does === 'discard') return job.discard('not worth it');
      if (does === 'fail once' && job.attempt === 1) {
        await db.execute(sql`select 1 / 0`);
      }
    },
  };
}

export function testingTests(used: UsedDriver): void {
  it('drains to every end in order, and leaves nothing', async () => {
    const { runs, notes } = await rolledBack(used.db, async (tx) => {
      const kinds = ['end', 'complete', 'snooze once', 'discard', 'fail once'] as const;
      for (const does of kinds) await queue.enqueue(tx, 'task', { does });
      const runs = await drain(tx, { registry, handlers: handlersOf(tx) });
      const notes = await enqueuedNotes(tx);
      return { runs, notes };
    });
    const ends = runs.map(({ kind, attempt, outcome }) => `${kind} ${attempt} ${outcome}`);
    expect(ends).toEqual([
      'task 1 completed',
      'task 1 completed',
      'task 1 snoozed',
      'task 1 discarded',
      'task 1 failed',
      'task 2 completed', // its kind tries again at once
    ]);
    // A statement that failed has undone what its handler wrote, and nothing else.
    expect(notes).toEqual(['end', 'complete', 'snooze once', 'discard', 'fail once']);
    expect(await used.read(sql`select count(*)::int as n from jobs`)).toEqual([{ n: 0 }]);
  });

  it('lets time pass by moving rows', async () => {
    await rolledBack(used.db, async (tx) => {
      await queue.enqueue(tx, 'task', { does: 'snooze once' }, { delayMs: 3_600_000 });
      const options = { registry, handlers: handlersOf(tx) };
      expect(await drain(tx, options)).toEqual([]);
      expect(await advance(tx, queue, 3_600_000)).toBe(1);
      expect(await drain(tx, options)).toMatchObject([{ outcome: 'snoozed' }]);
      const job = await assertEnqueued(tx, queue, 'task', { does: 'snooze once' });
      expect(job).toMatchObject({
        kind: 'task',
        queue: 'tasks',
        attempts: 0,
        maxAttempts: 10,
        dedupeKey: null,
      });
      expect(job.runAt.getTime()).toBeGreaterThan(Date.now() + 30_000);
    });
  });

  it('finds what was enqueued by a part of its payload', async () => {
    await rolledBack(used.db, async (tx) => {
      await queue.enqueue(tx, 'greet', { to: { name: 'ada', tags: ['a', 'b'] }, n: 1 }, { dedupeKey: 'one' });
      await queue.enqueue(tx, 'greet', { to: { name: 'bob' }, n: 2 }, { runAt: '2999-01-01T00:00:00Z' });
      const names = async (match: Parameters<typeof enqueued<typeof registry, 'greet'>>[3]) =>
        (await enqueued(tx, queue, 'greet', match)).map(({ payload }) => payload);
      expect(await names(undefined)).toHaveLength(2);
      expect(await names({ to: { tags: ['b'] } })).toEqual([{ to: { name: 'ada', tags: ['a', 'b'] }, n: 1 }]);
      expect(await names((payload) => JSON.stringify(payload).includes('bob'))).toHaveLength(1);
      expect(await names({ to: { name: 'eve' } })).toEqual([]);
      const [one, two] = await enqueued(tx, queue, 'greet');
      expect(one?.dedupeKey).toBe('one');
      expect(two?.runAt).toEqual(new Date('2999-01-01T00:00:00Z'));
      await expect(assertEnqueued(tx, queue, 'greet', { n: 3 })).rejects.toMatchObject({
        code: 'NOT_ENQUEUED',
        message: expect.stringMatching(
          /^No job of "greet" with \{"n":3\} waits\. Of this kind wait: \{.*ada.*bob/,
        ),
      });
    });
  });
}

async function enqueuedNotes(tx: Pick<Database, 'execute'>): Promise<unknown[]> {
  const answer: unknown = await tx.execute(
    sql`select payload #>> '{}' as does from jobs where kind = 'note' order by id`,
  );
  const rows = Array.isArray(answer) ? answer : (answer as { rows: { does: unknown }[] }).rows;
  return rows.map(({ does }) => does);
}
