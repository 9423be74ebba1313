/** Pausing, resuming and asking what is paused, and workers that heed it. */
import { sql } from 'drizzle-orm';
import { afterEach, expect, it } from 'vitest';
import { until } from '../support/until.js';
import { oddQueue, oddTexts, queue } from './app.js';
import type { UsedDriver } from './stage.js';
import { withWorker } from './worker-stage.js';

export function pauseTests(used: UsedDriver): void {
  afterEach(async () => {
    await used.read(sql`truncate job_limits`);
  });

  it('answers, also in a transaction', async () => {
    expect(await queue.pause(used.db, { queue: 'tasks' })).toEqual({ result: 'done' });
    await used.db.transaction(async (tx) => {
      expect(await queue.pause(tx, { queue: 'tasks' })).toEqual({ result: 'unchanged' });
      expect(await queue.pause(tx, { kind: 'greet' })).toEqual({ result: 'done' });
      expect(await queue.paused(tx)).toHaveLength(2);
    });
    const paused = await queue.paused(used.db);
    expect(paused).toEqual([
      { queue: 'tasks', pausedAt: expect.any(Date) },
      { kind: 'greet', pausedAt: expect.any(Date) },
    ]);
    for (const { pausedAt } of paused) expect(Math.abs(pausedAt.getTime() - Date.now())).toBeLessThan(60_000);
    const undone = used.db.transaction(async (tx) => {
      expect(await queue.resume(tx, { queue: 'tasks' })).toEqual({ result: 'done' });
      tx.rollback();
    });
    await expect(undone).rejects.toThrow();
    for (const each of paused) expect(await queue.resume(used.db, each)).toEqual({ result: 'done' });
    expect(await queue.resume(used.db, { queue: 'tasks' })).toEqual({ result: 'unchanged' });
    expect(await queue.paused(used.db)).toEqual([]);
  });

  it('odd names', async () => {
    for (const text of oddTexts) {
      await oddQueue.pause(used.db, { queue: text });
      await oddQueue.pause(used.db, { kind: text });
    }
    const names = oddTexts.flatMap((text) => [{ queue: text }, { kind: text }]);
    expect(await oddQueue.paused(used.db)).toMatchObject(names);
    for (const each of await oddQueue.paused(used.db))
      expect(await oddQueue.resume(used.db, each)).toEqual({ result: 'done' });
    expect(await oddQueue.paused(used.db)).toEqual([]);
  });

  it.each([{ queue: 'tasks' }, { kind: 'task' }] as const)('a worker heeds %o, and its end', async (what) => {
    await queue.pause(used.db, what);
    await queue.enqueue(used.db, 'task', { does: 'end' });
    await withWorker(
      used,
      () => {},
      async (seen) => {
        await until(() => seen.paused, { what: 'the pause' });
        await queue.resume(used.db, what);
        await until(() => seen.completed, { what: 'the job' });
        await queue.pause(used.db, what);
        await until(() => seen.paused?.length === 2, { what: 'the next pause' });
        expect(seen).toMatchObject({ paused: [what, what], resumed: [what] });
        expect(seen.error).toBeUndefined();
        await queue.enqueue(used.db, 'task', { does: 'end' });
      },
    );
    expect(await used.read(sql`select state from jobs`)).toEqual([{ state: 'available' }]);
  });
}
