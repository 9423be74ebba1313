/**
 * Every statement of the library binds a parameter. Behind one without, postgres.js sends the next one before the answer
 * has come, and a pooler may give the connection to the server away in between: the next is never answered.
 */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { given } from '../support/jobs.js';
import { until } from '../support/until.js';
import { type Task, useWorkers } from '../worker/stage.js';
import { usePooler } from './stage.js';

const used = usePooler();
const { startTask } = useWorkers(used.direct);
const { enqueue, enqueueMany } = createQueue(defineJobs({ task: job<Task>() }));

it('from enqueue to rescue and release', async () => {
  const sent: { text: string; parameters: number }[] = [];
  const client = postgres(used.pooler.url, { prepare: false });
  const logger = {
    logQuery: (text: string, parameters: unknown[]) => sent.push({ text, parameters: parameters.length }),
  };
  const db = drizzle({ client, logger });
  await given(used.direct.sql).running({
    kind: 'task',
    payload: { n: 9 },
    heartbeatAgoS: 3_600,
    timeoutS: 1,
  });
  const { worker, seen } = await startTask(
    async ({ n }, run) => {
      if (n === 1) throw new Error('no luck');
      if (n === 2) await db.transaction((tx) => run.complete(tx));
      if (n === 3) await new Promise(() => {});
    },
    { db },
  );
  await db.transaction(async (tx) => {
    await enqueue(tx, 'task', { n: 1 });
    await enqueueMany(
      tx,
      [2, 3].map((n) => ({ kind: 'task', payload: { n } }) as const),
    );
  });
  await until(() => seen.rescued.length && seen.failed.length && seen.completed.length, {
    what: 'every end',
  });
  await worker.stop({ graceMs: 0 });
  await client.end();

  // Drizzle's own, on a connection that nothing else is sent on.
  const ours = sent.filter(
    ({ text }) => !/^(?:begin|commit|rollback|savepoint|set transaction)\b/i.test(text),
  );
  expect(ours.filter(({ parameters }) => parameters === 0)).toEqual([]);
  for (const word of ['insert into', 'current_setting', 'date_part', 'heartbeat_at', 'skip locked']) {
    expect(ours.some(({ text }) => text.includes(word))).toBe(true);
  }
});
