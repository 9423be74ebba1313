/**
 * Drivers over HTTP, whose `transaction` throws: each call of an enqueue is one statement, and commits by itself. Drizzle's
 * own proxy driver stands for them, with a client of postgres.js at its other end.
 */
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/pg-proxy';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createQueue } from '../../src/index.js';
import { queue, registry } from './app.js';
import type { UsedDriver } from './stage.js';

export function httpTests(used: UsedDriver): void {
  let client: ReturnType<typeof postgres>;
  const statements: string[] = [];
  const db = drizzle(async (text, values) => {
    statements.push(text);
    return { rows: [...(await client.unsafe(text, values))] };
  });
  beforeAll(() => {
    client = postgres(used.url, { onnotice: () => {} });
  });
  afterEach(() => {
    statements.length = 0;
  });
  afterAll(() => client.end({ timeout: 5 }));

  it('have no transactions', async () => {
    await expect(db.transaction(async () => {})).rejects.toThrow(/not supported/);
  });

  it('enqueue by one statement each', async () => {
    const enqueues = [
      () => queue.enqueue(db, 'greet', 1),
      () => queue.enqueue(db, 'greet', 2, { delayMs: 1_000, dedupeKey: 'k' }),
      () => queue.enqueue(db, 'greet', 3, { dedupeKey: 'k' }),
      () => queue.enqueue(db, 'greet', 4, { dedupeKey: 'k', onDuplicate: 'replace' }),
      () =>
        queue.enqueueMany(
          db,
          Array.from({ length: 5_000 }, () => ({ kind: 'greet', payload: 5 }) as const),
        ),
      () => queue.enqueueMany(db, [{ kind: 'greet', payload: 6, dedupeKey: 'k' }]),
    ];
    for (const enqueue of enqueues) {
      statements.length = 0;
      await enqueue();
      expect(statements).toHaveLength(1);
    }
    expect(
      await used.read(sql`select payload, count(*)::int as n from jobs group by payload order by payload`),
    ).toEqual([
      { payload: 1, n: 1 },
      { payload: 4, n: 1 },
      { payload: 5, n: 5_000 },
    ]);
  });

  it('move jobs as well', async () => {
    const { id } = await queue.enqueue(db, 'greet', 1, { delayMs: 1_000 });
    expect(await queue.runNow(db, id)).toMatchObject({ result: 'done' });
    expect(await queue.cancel(db, id)).toMatchObject({ result: 'done' });
    expect(await queue.replay(db, id)).toMatchObject({ result: 'done' });
  });

  it('refuse what takes more than one statement, and leave nothing of it', async () => {
    const list = Array.from({ length: 5_001 }, () => ({ kind: 'greet', payload: 1 }) as const);
    await expect(queue.enqueueMany(db, list)).rejects.toThrow(/not supported/);
    const mixed = [
      { kind: 'greet', payload: 1 },
      { kind: 'greet', payload: 2, dedupeKey: 'k' },
    ] as const;
    await expect(queue.enqueueMany(db, mixed)).rejects.toThrow(/not supported/);
    const strict = createQueue(registry, { requireTransaction: true });
    await expect(Reflect.apply(strict.enqueue, undefined, [db, 'greet', 1])).rejects.toMatchObject({
      code: 'TRANSACTION_REQUIRED',
    });
    expect(await used.read(sql`select 1 from jobs`)).toEqual([]);
  });
}
