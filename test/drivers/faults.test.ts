/** Backends that are killed in the middle of each step, and an answer that is lost. */
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { rows } from '../../src/database/rows.js';
import type { Executor, Transaction } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { networkedDrivers } from '../support/drivers.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { waitingForAdvisory } from '../support/waiting.js';
import { type Connection, connectAgain } from '../worker/connect-again.js';
import { queue } from './app.js';
import { uncaughtDuring } from './uncaught.js';
import { withWorker } from './worker-stage.js';

const database = useDatabase();
/** postgres.js 3.4.9 sends its rollback into a socket that is gone (porsager/postgres#1208); the README warns of it. */
const nullSocket = `Cannot read properties of null (reading 'write')`;
/** A client of node-postgres that is in use has no listener for its errors, unless Drizzle 1.0 or a worker adds one. */
const unheard = { v0: ['Connection terminated unexpectedly'], v1: [] } as const;
const task = (does: 'end' | 'complete') => queue.enqueue(database.db, 'task', { does });
const rowsLeft = () => database.sql`select state, attempts from jobs`;

describe.each(networkedDrivers)('on %s', (driver) => {
  let connected: Connection;
  beforeEach(() => {
    connected = connectAgain[driver](database.url);
  });
  afterEach(async () => {
    await connected.end();
    await database.sql`drop function if exists wait_for_test cascade`;
    await database.sql`truncate jobs`;
  });

  /** From now on a write waits in its middle while the test holds the advisory lock 1. */
  async function hold(when: string): Promise<void> {
    await database.sql.unsafe(`
      create function wait_for_test() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock(1);
        return coalesce(new, old);
      end $$;
      create trigger wait_for_test ${when} execute function wait_for_test()`);
  }

  /** Kills the backend that waits, after what makes it do so. */
  async function killed(begin: () => Promise<unknown>): Promise<void> {
    await database.sql.begin(async (holder) => {
      await holder`select pg_advisory_xact_lock(1)`;
      await begin();
      const kill = () => holder`
        select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and not granted and database =
          (select oid from pg_database where datname = current_database())`;
      await until(async () => (await kill()).length > 0, {
        what: 'a backend in the middle of its statement',
      });
    });
  }

  /** Ends the transaction's own backend; the statement fails. */
  const killSelf = (tx: Executor) => tx.execute(sql`select pg_terminate_backend(pg_backend_pid())`);

  it('a backend killed during a claim costs no attempt', async () => {
    await hold(`before update on jobs for each row when (old.state = 'available' and new.state = 'running')`);
    const attempts: number[] = [];
    const seen = await withWorker(
      connected,
      (_, { attempt }) => void attempts.push(attempt),
      async (seen) => {
        await killed(() => task('end'));
        await until(() => seen.completed, { what: 'the job' });
      },
    );
    expect(attempts).toEqual([1]);
    expect(seen.error?.map(({ during }) => during)).toContain('claim');
    expect(seen).not.toHaveProperty('lost');
    expect(await rowsLeft()).toHaveLength(0);
  });

  it('a backend killed during a finish has the finish sent again, and the handler is not', async () => {
    await hold('before delete on jobs for each row');
    let runs = 0;
    const seen = await withWorker(
      connected,
      () => void runs++,
      async (seen) => {
        await killed(() => task('end'));
        await until(() => seen.completed, { what: 'the end' });
      },
    );
    expect(runs).toBe(1);
    expect(seen.error?.map(({ during }) => during)).toContain('finish');
    expect(seen).not.toHaveProperty('lost');
    expect(await rowsLeft()).toHaveLength(0);
  });

  it('a finish whose answer was lost is told as unknown, and the handler does not run again', async () => {
    const proxy = await startTcpProxy(database.url);
    const through = connectAgain[driver](proxy.url);
    let runs = 0;
    try {
      await hold('before delete on jobs for each row');
      const seen = await withWorker(
        through,
        () => void runs++,
        async (seen) => {
          await database.sql.begin(async (holder) => {
            await holder`select pg_advisory_xact_lock(1)`;
            await task('end');
            await until(async () => (await waitingForAdvisory(database.sql)).length, {
              what: 'the finish to be half-way',
            });
            proxy.loseAnswers();
          });
          await until(async () => (await rowsLeft()).length === 0, { what: 'the finish' });
          proxy.mend();
          await until(() => seen.unknown, { what: 'the second finish' });
        },
      );
      expect(seen.unknown).toEqual([{ job: expect.objectContaining({ attempt: 1 }), move: 'complete' }]);
      expect(runs).toBe(1);
    } finally {
      await through.end();
      await proxy.end();
    }
  });

  it('a backend killed after complete(tx) fails the attempt, and the next one writes once', async () => {
    await database.sql`create table notes (attempt int)`;
    await task('complete');
    const uncaught = await uncaughtDuring(async () => {
      const seen = await withWorker(
        connected,
        (_, job) =>
          connected.db.transaction(async (tx: Transaction) => {
            await tx.execute(sql`insert into notes values (${job.attempt}::int)`);
            await job.complete(tx);
            if (job.attempt === 1) await killSelf(tx);
          }),
        (seen) => until(() => seen.completed, { what: 'the job' }).then(() => {}),
      );
      expect(seen.failed?.map(({ job }) => job.attempt)).toEqual([1]);
      expect(seen.completed?.map(({ job }) => job.attempt)).toEqual([2]);
      expect([...(await database.sql`select attempt from notes`)]).toEqual([{ attempt: 2 }]);
    });
    expect(uncaught).toEqual([]);
    await database.sql`drop table notes`;
  });

  it('a backend killed in a transaction that has enqueued rejects, and leaves no job', async () => {
    const uncaught = await uncaughtDuring(async () => {
      const killed = connected.db.transaction(async (tx: Transaction) => {
        await queue.enqueue(tx, 'greet', 'lost');
        await killSelf(tx);
      });
      await expect(killed).rejects.toThrow();
      expect(await rowsLeft()).toHaveLength(0);
      await connected.db.transaction((tx: Transaction) => queue.enqueue(tx, 'greet', 'kept'));
      expect(await rowsLeft()).toHaveLength(1);
    });
    expect(uncaught).toEqual(driver === 'postgres.js' ? [nullSocket] : unheard[inject('generation')]);
  });
});

describe('on postgres.js', () => {
  it('a tx whose backend was killed goes on outside of any transaction when its connection is made anew', async () => {
    // porsager/postgres#1216, which the README warns of; when this fails, the warning can go.
    const client = postgres(database.url, { max: 1, backoff: () => 0.01, onnotice: () => {} });
    const db = drizzle({ client });
    const rejected = db.transaction(async (tx) => {
      await queue.enqueue(tx, 'greet', 'before');
      const [session] = await rows(tx, sql`select pg_backend_pid() as pid`);
      const another = db.execute(sql`select 1`); // waits for the one connection, and has it made anew
      await database.sql`select pg_terminate_backend(${Number(session?.['pid'])})`;
      await another;
      await queue.enqueue(tx, 'greet', 'after');
      tx.rollback();
    });
    await expect(rejected).rejects.toThrow();
    const left = async () => (await database.sql`select payload from jobs`).map(({ payload }) => payload);
    await until(async () => (await left()).length, { what: 'the enqueue, which nobody waits for' });
    expect(await left()).toEqual(['after']);
    await client.end({ timeout: 1 });
    await database.sql`truncate jobs`;
  });
});
