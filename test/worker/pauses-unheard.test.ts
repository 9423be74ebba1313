/** Workers that nobody tells what is paused look for themselves, and cost no more for it. */
import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { claims, last, lookedMs, passes, queue, tasks, usePauses } from './pauses-stage.js';

const database = useDatabase();
const { deaf, start, waiting } = usePauses(database);

describe('a worker that nobody tells', () => {
  it('heeds pause and resume within two seconds', async () => {
    const { seen, ran } = await start({ db: deaf().db, pollIntervalMs: 100 });
    await queue.enqueueMany(database.db, tasks(3));
    await until(() => seen.completed.length === 3, { what: 'the first jobs' });
    await queue.pause(database.db, { queue: 'default' });
    const paused = performance.now();
    while (performance.now() < paused + lookedMs + 500) await queue.enqueue(database.db, 'task', { n: 1 });
    expect(last(ran)).toBeLessThan(paused + lookedMs);
    expect(await waiting()).toBeGreaterThan(0);
    await queue.resume(database.db, { queue: 'default' });
    const left = await waiting();
    await until(async () => left > 0 && (await waiting()) === 0, {
      what: 'the rest',
      timeoutMs: lookedMs + 1_000,
    });
    expect(seen).toMatchObject({
      paused: [{ queue: 'default' }],
      resumed: [{ queue: 'default' }],
      error: [],
    });
  });

  it('sends no more than two statements a second while it is idle, and fewer while its queues are paused', async () => {
    const { db, sent } = deaf();
    const { seen } = await start({ db, pollIntervalMs: 1_000, heartbeatMs: 10_000 });
    await passes(1_000); // what is sent at the start
    sent.length = 0;
    await passes(3_000);
    expect(sent.length).toBeLessThanOrEqual(6);
    for (const name of ['default', 'other'] as const) await queue.pause(database.db, { queue: name });
    await until(() => seen.paused.length === 2, { what: 'both to be known' });
    sent.length = 0;
    await passes(3_000);
    expect(sent.length).toBeLessThanOrEqual(3);
    expect(claims(sent)).toBe(0);
  }, 30_000);
});
