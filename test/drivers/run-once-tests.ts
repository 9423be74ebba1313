/** `runOnce()` on one driver: jobs, their transactions, and a second call. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { createWorker } from '../../src/worker.js';
import { queue, registry } from './app.js';
import type { UsedDriver } from './stage.js';

export function runOnceTests(used: UsedDriver): void {
  it('runs what is due, once, and stays for nothing', async () => {
    const errors: unknown[] = [];
    const worker = createWorker({
      db: used.db,
      registry,
      queues: { tasks: 3 },
      kinds: ['task'],
      log: false,
      handlers: {
        task: async ({ does }, job) => {
          if (does === 'fail once' && job.attempt === 1) throw new Error('the first attempt fails');
          if (does === 'discard') return job.discard('not worth it');
          if (does === 'complete') await used.db.transaction((tx) => job.complete(tx));
          if (does === 'snooze once') return job.snooze({ delayMs: 60_000 });
        },
      },
    });
    worker.on('error', ({ error }) => errors.push(error));
    const tasks = ['end', 'fail once', 'discard', 'snooze once', 'complete'] as const;
    await queue.enqueueMany(
      used.db,
      tasks.map((does) => ({ kind: 'task', payload: { does } })),
    );
    const result = await worker.runOnce();
    expect(errors).toEqual([]);
    expect(result).toMatchObject({ completed: 3, failed: 1, discarded: 1, snoozed: 1, more: false });
    expect(await worker.runOnce()).toMatchObject({ completed: 0, failed: 0, discarded: 0, more: false });
    expect(await used.read(sql`select state from jobs order by state`)).toEqual([
      { state: 'available' },
      { state: 'discarded' },
    ]);
  });
}
