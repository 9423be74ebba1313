/** A worker from end to end, also where it has to share one connection with its handlers. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { createWorker } from '../../src/worker.js';
import { until } from '../support/until.js';
import { queue, registry } from './app.js';
import type { UsedDriver } from './stage.js';

export function workerTests(used: UsedDriver): void {
  it('runs jobs to every end', async () => {
    const ends: string[] = [];
    const errors: unknown[] = [];
    let snoozed = false;
    const worker = createWorker({
      db: used.db,
      registry,
      queues: { tasks: 3 },
      kinds: ['task'],
      heartbeatMs: 100,
      pollIntervalMs: 20,
      log: false,
      handlers: {
        task: async ({ does }, job) => {
          if (does === 'fail once' && job.attempt === 1) throw new Error('the first attempt fails');
          if (does === 'discard') return job.discard('not worth it');
          if (does === 'complete') await used.db.transaction((tx) => job.complete(tx));
          if (does === 'snooze once' && !snoozed) {
            snoozed = true;
            return job.snooze({ delayMs: 1 });
          }
        },
      },
    });
    for (const end of ['completed', 'failed', 'snoozed', 'discarded', 'lost'] as const) {
      worker.on(end, ({ job }) => ends.push(`${job.id} ${end} at attempt ${job.attempt}`));
    }
    worker.on('error', ({ error }) => errors.push(error));
    await worker.start();
    try {
      const tasks = ['end', 'fail once', 'discard', 'snooze once', 'complete'] as const;
      await queue.enqueueMany(
        used.db,
        tasks.map((does) => ({ kind: 'task', payload: { does } })),
      );
      await until(() => ends.length >= 7, { what: 'seven ends' });
    } finally {
      await worker.stop({ graceMs: 0 });
    }
    expect(errors).toEqual([]);
    expect(ends.sort()).toEqual([
      '1 completed at attempt 1',
      '2 completed at attempt 2',
      '2 failed at attempt 1',
      '3 discarded at attempt 1',
      '4 completed at attempt 1',
      '4 snoozed at attempt 1',
      '5 completed at attempt 1',
    ]);
    expect(await used.read(sql`select id::int as id, state, last_error from jobs`)).toEqual([
      { id: 3, state: 'discarded', last_error: expect.stringContaining('not worth it') },
    ]);
  });
}
