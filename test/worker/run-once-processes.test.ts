/** `runOnce()` in processes that are killed, and in ones that end when they have nothing left to do. */
import { describe, expect, it } from 'vitest';
import { createQueue } from '../../src/queue/queue.js';
import { useDatabase } from '../support/database.js';
import { useProcesses } from '../support/worker-process.js';
import type { Config, Message } from './fixtures/once-worker.js';
import { registry } from './fixtures/task-registry.js';

const database = useDatabase();
const processes = useProcesses();
const { enqueue } = createQueue(registry);

describe.each(['postgres.js', 'node-postgres'] as const)('on %s', (driver) => {
  const start = () => processes.start<Message>('once-worker', { url: database.url, driver } satisfies Config);
  const result = (child: ReturnType<typeof start>) =>
    child.message((message) => 'result' in message, 'the result', 20_000);

  it('a job of a process that was killed is rescued by another one, and runs in a third', async () => {
    const { id } = await enqueue(database.db, 'task', { n: 1, does: 'wait' });
    const killed = start();
    await killed.message((message) => 'handling' in message, 'the handler', 20_000);
    killed.kill('SIGKILL');
    await killed.exit;
    await database.sql`
      update jobs set heartbeat_at = now() - interval '1 hour', payload = '{"n": 1, "does": "nothing"}' where id = ${id}`;

    expect(await result(start())).toMatchObject({ result: { completed: 0, rescued: 1, more: false } });
    await database.sql`update jobs set run_at = now()`;
    expect(await result(start())).toMatchObject({ result: { completed: 1, rescued: 0, more: false } });
    expect(await database.sql`select 1 from jobs`).toEqual([]);
  }, 60_000);

  it('the process ends by itself, since nothing is left to wait for', async () => {
    await enqueue(database.db, 'task', { n: 1, does: 'nothing' });
    const child = start();
    await result(child);
    const told = performance.now();
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(performance.now() - told).toBeLessThan(2_000);
  }, 60_000);
});
