/**
 * `job.complete(tx)`: the handler's writes and the end of its job commit together, or not at all.
 */
import { sql } from 'drizzle-orm';
import { integer, pgTable } from 'drizzle-orm/pg-core';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { rows } from '../../src/database/rows.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { type TaskHandler, useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);
const receipts = pgTable('receipts', { n: integer('n').primaryKey() });

beforeAll(async () => {
  await database.sql`create table receipts (n int primary key)`;
});
beforeEach(() => database.sql`truncate receipts`);

const written = async () => (await database.sql`select n from receipts order by n`).map(({ n }) => n);

it('commits the writes and the end of the job together', async () => {
  const [inside, go] = [createGate(), createGate()];
  const { add, seen } = await startTask(({ n }, job) =>
    database.db.transaction(async (tx) => {
      await tx.insert(receipts).values({ n });
      await job.complete(tx);
      inside.open();
      await go.passed;
    }),
  );

  const id = await add(1);
  await inside.passed;
  expect(await row(database.sql, id)).toMatchObject({ state: 'running' });
  expect(await written()).toEqual([]);
  go.open();
  await until(() => seen.completed.length, { what: 'the end' });

  expect(await row(database.sql, id)).toBeUndefined();
  expect(await written()).toEqual([1]);
  expect(seen).toMatchObject({ lost: [], unknown: [], failed: [], error: [] });
});

it('fails the attempt when the transaction was rolled back, though the handler resolves', async () => {
  const { add, seen } = await startTask(async ({ n }, job) => {
    await database.db
      .transaction(async (tx) => {
        await tx.insert(receipts).values({ n });
        await job.complete(tx);
        throw new Error('changed my mind');
      })
      .catch(() => {});
  });

  const id = await add(1);
  await until(() => seen.failed.length, { what: 'the failure' });

  expect(seen.failed[0]?.error).toMatchObject({ code: 'JOB_ROLLED_BACK', data: { id } });
  expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 1 });
  expect(await written()).toEqual([]);
});

it('fails with what the transaction threw when the handler lets it through', async () => {
  const { add, seen } = await startTask((_, job) =>
    database.db.transaction(async (tx) => {
      await job.complete(tx);
      throw new Error('out of paper');
    }),
  );
  const id = await add(1);
  await until(() => seen.failed.length, { what: 'the failure' });
  const lastError = expect.stringContaining('out of paper');
  expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 1, lastError });
});

it('works in the second try of a transaction that was rolled back', async () => {
  const { add, seen } = await startTask(async ({ n }, job) => {
    const attempt = (fail: boolean) =>
      database.db.transaction(async (tx) => {
        await tx.insert(receipts).values({ n });
        await job.complete(tx);
        if (fail) throw new Error('could not serialize access');
      });
    await attempt(true).catch(() => attempt(false));
  });
  const id = await add(1);
  await until(() => seen.completed.length, { what: 'the end' });
  expect(await row(database.sql, id)).toBeUndefined();
  expect(await written()).toEqual([1]);
});

it('rejects with JOB_LOST, and rolls back, when the job is not this run’s any more', async () => {
  const [started, taken] = [createGate(), createGate()];
  const caught: unknown[] = [];
  const { add, seen } = await startTask(
    async ({ n }, job) => {
      started.open();
      await taken.passed;
      const writing = database.db.transaction(async (tx) => {
        await tx.insert(receipts).values({ n });
        await job.complete(tx);
      });
      await writing.catch((error) => caught.push(error));
    },
    { heartbeatMs: 10_000 }, // so that the handler, not a heartbeat, finds out
  );

  const id = await add(1);
  await started.passed;
  await database.sql`update jobs set locked_by = 'another/1' where id = ${id}`;
  taken.open();
  await until(() => seen.lost.length, { what: 'the loss' });

  expect(caught).toMatchObject([{ code: 'JOB_LOST', data: { id } }]);
  expect(await written()).toEqual([]);
  expect(await row(database.sql, id)).toMatchObject({ state: 'running', lockedBy: 'another/1', attempts: 1 });
  expect(seen).toMatchObject({ lost: [{ during: 'finish' }], completed: [], failed: [] });
});

it('takes a transaction only', async () => {
  const { add, seen } = await startTask(async (_, job) => {
    const db = database.db as unknown as Parameters<typeof job.complete>[0];
    await job.complete(db);
  });
  await add(1);
  await until(() => seen.failed.length, { what: 'the failure' });
  expect(seen.failed[0]?.error).toMatchObject({ code: 'TRANSACTION_REQUIRED' });
});

it('lets heartbeats and ends of other jobs go on while its transaction is open', async () => {
  const [inside, go, others] = [createGate(), createGate(), createGate()];
  const { add, seen } = await startTask(
    async ({ n }, job) => {
      if (n === 2) return others.passed;
      if (n > 2) return;
      await database.db.transaction(async (tx) => {
        await job.complete(tx);
        inside.open();
        await go.passed;
      });
    },
    { rescueAfterMs: 1_000 },
  );

  const holder = await add(1);
  const other = await add(2);
  await inside.passed;
  const renewed = async () => {
    const [pulse] = await database.sql`
      select 1 from jobs where id = ${other} and heartbeat_at > started_at + interval '1.2 seconds'`;
    return pulse;
  };
  await until(renewed, { what: 'heartbeats for longer than the rescue limit' });
  await Promise.all([add(3), add(4)]);
  others.open();
  await until(() => seen.completed.length === 3, { what: 'the ends of the others' });
  expect(await row(database.sql, holder)).toMatchObject({ state: 'running', attempts: 1 });
  go.open();

  await until(() => seen.completed.length === 4, { what: 'the end of the holder' });
  expect(seen).toMatchObject({ lost: [], rescued: [], failed: [], unknown: [], error: [] });
});

it('lets the handler go on after the commit, without telling it that its job is lost', async () => {
  const [committed, go] = [createGate(), createGate()];
  const signals: AbortSignal[] = [];
  const { add, seen } = await startTask(async ({ n }, job) => {
    signals.push(job.signal);
    if (n === 1) {
      await database.db.transaction((tx) => job.complete(tx));
      committed.open();
    }
    await go.passed;
  });
  await add(1);
  await committed.passed;
  const other = await add(2);
  const beaten = async () => {
    const [pulse] = await database.sql`
      select 1 from jobs where id = ${other} and heartbeat_at > started_at + interval '0.3 seconds'`;
    return pulse;
  };
  await until(beaten, { what: 'heartbeats of the worker' });
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
  go.open();
  await until(() => seen.completed.length === 2, { what: 'both ends' });
  expect(seen).toMatchObject({ lost: [], unknown: [] });
});

it('has completed the job when it commits after the time limit', async () => {
  const [inside, go] = [createGate(), createGate()];
  const { add, seen } = await startTask(
    ({ n }, job) =>
      database.db.transaction(async (tx) => {
        if (n === 2) return;
        await job.complete(tx);
        inside.open();
        await go.passed;
      }),
    { timeoutMs: 1_000, slots: 1 },
  );
  const id = await add(1);
  await inside.passed;
  await add(2);
  // Its slot is free: the time limit has passed, and its failure waits for the row that the transaction holds.
  await until(() => seen.claimed.length === 2, { what: 'the claim of the second job' });
  expect(await row(database.sql, id)).toMatchObject({ state: 'running' });
  go.open();
  await until(() => seen.completed.length === 2, { what: 'both ends' });
  expect(await row(database.sql, id)).toBeUndefined();
  expect(seen).toMatchObject({ failed: [], lost: [], unknown: [] });
});

/** No heartbeat comes before the end of the test. */
const slowHeart = { heartbeatMs: 10_000 };

it('that is refused makes no completed job', async () => {
  const codes: unknown[] = [];
  const { add, seen } = await startTask(async (_, job) => {
    await database.sql`delete from jobs where id = ${job.id}`;
    await database.db
      .transaction((tx) => job.complete(tx))
      .catch((error: { code?: unknown }) => codes.push(error.code));
  }, slowHeart);
  await add(1);
  await until(() => seen.lost.length + seen.completed.length, { what: 'the end' });
  expect(codes).toEqual(['JOB_LOST']);
  expect(seen).toMatchObject({ completed: [], lost: [{ during: 'finish' }] });
});

it('comes too late after a heartbeat that found the job lost', async () => {
  const codes: unknown[] = [];
  const done = createGate();
  const { add, seen } = await startTask(async (_, job) => {
    await database.sql`delete from jobs where id = ${job.id}`;
    await new Promise((resolve) => job.signal.addEventListener('abort', resolve));
    await database.db
      .transaction((tx) => job.complete(tx))
      .catch((error: { code?: unknown }) => codes.push(error.code));
    done.open();
  });
  await add(1);
  await done.passed;
  expect(codes).toEqual(['JOB_LOST']);
  expect(seen).toMatchObject({ completed: [], lost: [{ during: 'handler' }] });
});

it.each<[what: string, says: TaskHandler, error: object]>([
  ['snooze', (_, job) => job.snooze({ delayMs: 60_000 }), { code: 'JOB_ENDED', data: { move: 'snooze' } }],
  ['discard', (_, job) => job.discard('pointless'), { message: 'pointless' }],
])(
  'that has committed is the end: a %s after it changes nothing, and is told',
  async (_what, says, error) => {
    const { add, seen } = await startTask(async (task, job) => {
      await database.db.transaction((tx) => job.complete(tx));
      return says(task, job);
    });
    const id = await add(1);
    await until(() => seen.completed.length, { what: 'the end' });
    expect(await row(database.sql, id)).toBeUndefined();
    expect(seen.error).toMatchObject([{ during: 'handler', error }]);
    expect(seen).toMatchObject({ snoozed: [], discarded: [], lost: [] });
  },
);

it('that was rolled back leaves the job to what the handler says then', async () => {
  const { add, seen } = await startTask(async (_, job) => {
    const completing = database.db.transaction(async (tx) => {
      await job.complete(tx);
      throw new Error('the order is locked');
    });
    await completing.catch(() => job.snooze({ delayMs: 60_000 }));
  });
  await add(1);
  await until(() => seen.snoozed.length, { what: 'the snooze' });
  expect(seen).toMatchObject({ completed: [], error: [] });
});

it('that was rolled back does not hide that another has the job', async () => {
  const given = createGate();
  const { add, seen } = await startTask(async (_, job) => {
    await database.db
      .transaction(async (tx) => {
        await job.complete(tx);
        throw new Error('rolled back');
      })
      .catch(() => {});
    await database.sql`update jobs set locked_by = 'another/1' where id = ${job.id}`;
    job.signal.addEventListener('abort', () => given.open());
    await given.passed;
  });
  await add(1);
  await given.passed;
  expect(seen.lost).toMatchObject([{ during: 'handler' }]);
});

it('on postgres.js, completes nothing after the connection of its transaction was made anew', async () => {
  // What is sent through such a tx runs outside of any transaction (porsager/postgres#1216).
  await database.sql`create table effects (n int)`;
  const client = postgres(database.url, {
    max: 1,
    backoff: () => 0.01,
    fetch_types: false,
    onnotice: () => {},
  });
  const db = drizzle({ client });
  const refused: unknown[] = [];
  const { seen, add } = await startTask(
    async (_, job) => {
      let inside = Promise.resolve();
      const body = async (tx: Parameters<Parameters<typeof db.transaction>[0]>[0]) => {
        await tx.execute(sql`insert into effects values (${job.attempt}::int)`);
        if (job.attempt > 1) return job.complete(tx);
        const [session] = await rows(tx, sql`select pg_backend_pid() as pid`);
        const another = db.execute(sql`select 1`); // waits for the one connection, and has it made anew
        await database.sql`select pg_terminate_backend(${Number(session?.['pid'])})`;
        await another;
        return job.complete(tx).catch((error: unknown) => void refused.push(error));
      };
      const done = db.transaction((tx) => {
        inside = body(tx).then(() => {});
        return inside;
      });
      // As a handler that tries its transaction again: the first one's callback is still at work when it rejects.
      await done.catch(async (error) => {
        await inside;
        throw error;
      });
    },
    { maxAttempts: 3, retry: () => 0 },
  );
  await add(1);
  await until(() => seen.completed.length, { what: 'the second attempt' });
  expect(refused).toEqual([expect.objectContaining({ code: 'JOB_ROLLED_BACK' })]);
  expect(await database.sql`select n from effects`).toEqual([{ n: 2 }]);
  await client.end({ timeout: 1 });
  await database.sql`drop table effects`;
});
