/** `job.complete(tx)`: the handler's writes and the job's end commit together or not at all. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import type { Executor } from '../../src/index.js';
import { until } from '../support/until.js';
import { queue } from './app.js';
import type { UsedDriver } from './stage.js';
import { withWorker } from './worker-stage.js';

export function completeTests(used: UsedDriver): void {
  /** A worker whose handler writes a note in the transaction, then does as it is told; gives what is left. */
  async function run(
    handler: (attempt: number, complete: () => Promise<void>, tx: Executor) => Promise<void>,
  ): Promise<{ notes: unknown; jobs: unknown; failures: unknown[] }> {
    await used.read(sql`create table if not exists notes (attempt int)`);
    await used.read(sql`truncate notes`);
    await queue.enqueue(used.db, 'task', { does: 'complete' }, { maxAttempts: 2 });
    const seen = await withWorker(
      used,
      (_, job) =>
        used.db.transaction(async (tx) => {
          await tx.execute(sql`insert into notes values (${job.attempt}::int)`);
          await handler(job.attempt, () => job.complete(tx), tx);
        }),
      (seen) =>
        until(() => seen.completed || seen.discarded || seen.lost, { what: 'the end' }).then(() => {}),
    );
    expect(seen.error).toBeUndefined();
    return {
      notes: (await used.read(sql`select attempt from notes`)).map((row) => row['attempt']),
      jobs: await used.read(sql`select state, attempts from jobs`),
      failures: [...(seen.failed ?? []), ...(seen.discarded ?? [])].map(({ error }) => error),
    };
  }

  it('commits both', async () => {
    expect(await run((_, complete) => complete())).toEqual({ notes: [1], jobs: [], failures: [] });
  });

  it('rolls both back when the handler throws after it, and both stand after the next attempt', async () => {
    const late = new Error('after complete');
    const { notes, jobs, failures } = await run(async (attempt, complete) => {
      await complete();
      if (attempt === 1) throw late;
    });
    expect({ notes, jobs, failures }).toEqual({ notes: [2], jobs: [], failures: [late] });
  });

  it('commits the writes, and the job begins anew, where one more run was asked for', async () => {
    const again = { dedupeKey: 'k', onDuplicate: 'again' } as const;
    await queue.enqueue(used.db, 'task', { does: 'complete' }, again);
    await used.read(sql`create table if not exists notes (attempt int)`);
    await used.read(sql`truncate notes`);
    let asked = false;
    const seen = await withWorker(
      used,
      async (_, job) => {
        if (!asked) await queue.enqueue(used.db, 'task', { does: 'complete' }, again);
        asked = true;
        await used.db.transaction(async (tx) => {
          await tx.execute(sql`insert into notes values (${job.attempt}::int)`);
          await job.complete(tx);
        });
      },
      (seen) => until(() => seen.completed?.length === 2, { what: 'both ends' }).then(() => {}),
    );
    expect([seen.lost, seen.failed, seen.unknown, seen.error]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(await used.read(sql`select attempt from notes`)).toEqual([{ attempt: 1 }, { attempt: 1 }]);
    expect(await used.read(sql`select state from jobs`)).toEqual([]);
  });

  it('rejects when the job is not this run’s any more, and what was written with it is gone', async () => {
    const { notes, jobs, failures } = await run(async (attempt, complete, tx) => {
      if (attempt === 1) await tx.execute(sql`update jobs set locked_by = 'another/1'`);
      await complete();
    });
    expect({ notes, jobs }).toEqual({ notes: [2], jobs: [] });
    expect(failures).toEqual([expect.objectContaining({ code: 'JOB_LOST' })]);
  });

  it('fails the attempt when its transaction was rolled back, though the handler resolves', async () => {
    await queue.enqueue(used.db, 'task', { does: 'complete' }, { maxAttempts: 1 });
    const seen = await withWorker(
      used,
      async (_, job) => {
        const rolledBack = used.db.transaction(async (tx) => {
          await job.complete(tx);
          tx.rollback();
        });
        await rolledBack.catch(() => {});
      },
      (seen) => until(() => seen.discarded, { what: 'the end' }).then(() => {}),
    );
    expect(seen.discarded).toEqual([
      expect.objectContaining({ error: expect.objectContaining({ code: 'JOB_ROLLED_BACK' }) }),
    ]);
    expect(await used.read(sql`select state from jobs`)).toEqual([{ state: 'discarded' }]);
  });
}
