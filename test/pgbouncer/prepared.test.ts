/**
 * postgres.js as it comes prepares `commit` by name. A pooler in transaction mode gives each transaction whichever
 * connection is free; one that does not know the name ends the transaction by a rollback, and the driver says that it was
 * committed. So apps need `prepare: false`, though statements by themselves work without.
 */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { until } from '../support/until.js';
import { type Task, useWorkers } from '../worker/stage.js';
import { callers, reconnect, usePooler } from './stage.js';

const used = usePooler({ poolSize: 2 });
const { startTask } = useWorkers(used.direct);
const { enqueue, enqueueMany } = createQueue(defineJobs({ task: job<Task>() }));

it.each([
  ['is lost with postgres.js as it comes', {}, [1]],
  ['is not with prepare: false', { prepare: false }, [1, 2]],
])('a committed transaction on another connection %s', async (_name, options, kept) => {
  await reconnect(used.pooler);
  const client = postgres(used.pooler.url, { max: 1, ...options });
  const other = postgres(used.pooler.url, { max: 1, prepare: false });
  const add = (n: number) =>
    drizzle({ client }).transaction(async (tx) => {
      await enqueue(tx, 'task', { n });
      const [{ pid } = { pid: 0 }] = await tx.execute<{ pid: number }>('select pg_backend_pid() as pid');
      return pid;
    });

  const first = await add(1);
  const second = await other.begin(async (busy) => {
    const [held] = await busy`select pg_backend_pid() as pid`;
    expect(held).toEqual({ pid: first });
    return add(2);
  });
  await Promise.all([client.end(), other.end()]);

  expect(second).not.toBe(first);
  const rows = await used.direct.sql<{ n: number }[]>`select (payload->>'n')::int as n from jobs order by id`;
  expect(rows.map(({ n }) => n)).toEqual(kept);
});

it('a worker, and enqueues outside of transactions, work with postgres.js as it comes', async () => {
  const client = postgres(used.pooler.url, { max: callers });
  const db = drizzle({ client });
  const ran: number[] = [];
  const { worker, seen } = await startTask(({ n }) => void ran.push(n), { db, slots: callers });

  const numbers = Array.from({ length: callers * 5 }, (_, n) => n);
  await Promise.all(
    numbers.map((n) =>
      n % 2 ? enqueue(db, 'task', { n }) : enqueueMany(db, [{ kind: 'task', payload: { n } }]),
    ),
  );
  await until(() => seen.completed.length === numbers.length, { what: 'every job to end' });
  await worker.stop();
  await client.end();

  expect(ran.sort((a, b) => a - b)).toEqual(numbers);
  expect([seen.error, seen.lost, seen.unknown]).toEqual([[], [], []]);
});
