/**
 * `stop()` while the database does not answer: it takes no longer than it says, and uses its time.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { connectAgain } from './connect-again.js';
import { createGate } from './gate.js';
import { type TaskHandler, useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

/** Never ends by itself, but heeds its signal. */
const untilAborted: TaskHandler = (_, { signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
/** How late the timers of a busy machine may be, all together; a statement's own limit is ten seconds. */
const busyMs = 500;
const deaf: TaskHandler = () => new Promise<void>(() => {});

async function timed(work: Promise<void>): Promise<number> {
  const began = performance.now();
  await work;
  return performance.now() - began;
}

describe.each(['postgres.js', 'node-postgres'] as const)('on %s', (driver) => {
  let proxy: TcpProxy;
  beforeAll(async () => {
    proxy = await startTcpProxy(database.url);
  });
  afterAll(() => proxy.end());

  it.each([
    ['heeds its signal', untilAborted],
    ['ignores it', deaf],
  ])('it resolves within the grace and 2 s, when the handler %s', async (_, handler) => {
    const through = connectAgain[driver](proxy.url);
    const { add, seen, worker } = await startTask(handler, { db: through.db });
    await add(1);
    await until(() => seen.claimed.length, { what: 'the claim' });

    proxy.blackHole();
    const tookMs = await timed(worker.stop({ graceMs: 300 }));

    expect(tookMs).toBeLessThan(2_300 + busyMs);
    expect(seen.stopped).toEqual([{ unwritten: 1 }]);
    proxy.mend();
    await through.end();
  });

  it('the grace is time for ends to be written', async () => {
    const through = connectAgain[driver](proxy.url);
    const go = createGate();
    const { add, seen, worker } = await startTask(() => go.passed, { db: through.db });
    const id = await add(1);
    await until(() => seen.claimed.length, { what: 'the claim' });

    proxy.cut();
    const stopping = worker.stop({ graceMs: 20_000 });
    go.open();
    await until(() => seen.error.filter(({ during }) => during === 'finish').length > 5, {
      what: 'failures',
    });
    proxy.mend();
    await stopping;

    expect(seen).toMatchObject({ completed: [{ job: { id } }], stopped: [{ unwritten: 0 }] });
    expect(await row(database.sql, id)).toBeUndefined();
    await through.end();
  });
});
