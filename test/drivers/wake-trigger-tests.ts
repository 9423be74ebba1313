/** The optional trigger on one driver: a worker that sleeps is woken by a plain insert. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { createWakeTrigger } from '../../src/sql/wake-trigger.js';
import { until } from '../support/until.js';
import type { UsedDriver } from './stage.js';
import { startWorker } from './worker-stage.js';

export function wakeTriggerTests(used: UsedDriver): void {
  it('wakes a worker for rows that come by plain SQL', async () => {
    // As a migration sends them: one by one.
    for (const statement of createWakeTrigger('public', 'jobs')) await used.read(sql.raw(statement));
    const ran: string[] = [];
    const { worker, seen } = await startWorker(used, ({ does }) => void ran.push(does), {
      pollIntervalMs: 60_000,
    });
    const listening = new Promise((resolve) => worker.on('listening', resolve));
    try {
      await listening;
      for (const n of [1, 2]) {
        await used.read(
          sql`insert into jobs (kind, payload, queue) values ('task', '{"does": "end"}', 'tasks')`,
        );
        await until(() => ran.length === n, { what: `run ${n}` });
      }
      expect(seen.error).toBeUndefined();
    } finally {
      await worker.stop();
      await used.read(sql.raw('drop trigger jobs_wake on jobs'));
    }
  });
}
