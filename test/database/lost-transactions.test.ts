/**
 * Transactions of postgres.js whose backend is killed: the process lives, the pool keeps all its connections, and nothing of
 * the transaction is sent elsewhere.
 */
import { sql } from 'drizzle-orm';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres, { type Sql } from 'postgres';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { guardTransactions } from '../../src/database/lost-transactions.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';

const database = useDatabase();
const connections = 4;
let db: PostgresJsDatabase & { $client: Sql };
let uncaught: unknown[] = [];
let unguard: () => void;

const note = (error: unknown): void => void uncaught.push(error);
let listeners: NodeJS.UncaughtExceptionListener[] = [];

beforeEach(async () => {
  const client = postgres(database.url, {
    max: connections,
    fetch_types: false,
    backoff: () => 0.05,
    connection: { application_name: 'guarded' },
  });
  db = drizzle({ client });
  unguard = guardTransactions(db);
  uncaught = [];
  listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', note);
  await database.sql`drop table if exists written`;
  await database.sql`create table written (what text)`;
});
afterEach(async () => {
  unguard();
  await db.$client.end({ timeout: 1 });
  process.off('uncaughtException', note);
  for (const listener of listeners) process.on('uncaughtException', listener);
  expect(uncaught).toEqual([]);
});

it('a killed backend fails its transactions, and no more than that', async () => {
  for (let round = 0; round < 3; round++) {
    const failed = Promise.allSettled(
      Array.from({ length: connections }, () =>
        db.transaction(async (tx) => {
          await tx.execute(sql`insert into written values ('lost')`);
          await tx.transaction((nested) => nested.execute(sql`select pg_sleep(60)`));
        }),
      ),
    );
    await kill(connections, `query like '%pg_sleep(60)%'`);
    expect((await failed).map(({ status }) => status)).toEqual(Array(connections).fill('rejected'));
    // The driver may fail one more statement with an error of the backend before.
    await until(async () => (await pids()) === connections, { what: 'every connection to be of use' });
  }

  expect(await written()).toEqual([]);
});

it('what the callback sends after the loss is refused, and lands in no other transaction', async () => {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const late: unknown[] = [];
  const lost = Promise.allSettled(
    Array.from({ length: connections }, () =>
      db.transaction(async (tx) => {
        await tx.execute(sql`select ${'in the middle'}`);
        await gate;
        await tx.execute(sql`insert into written values ('late')`).catch((error) => late.push(error));
        await tx.transaction((nested) => nested.execute(sql`insert into written values ('late')`));
      }),
    ),
  );
  await kill(connections, `query like '%select $1%' and state = 'idle in transaction'`);
  const results = await lost;

  // The connections are used by others when it goes on.
  const others = Promise.all(
    Array.from({ length: connections }, () =>
      db.transaction(async (tx) => {
        await tx.execute(sql`select pg_sleep(0.2)`);
        await tx.execute(sql`insert into written values ('other')`);
      }),
    ),
  );
  await until(async () => (await backends(`query like '%pg_sleep(0.2)%'`)).length === connections, {
    what: 'other transactions',
  });
  release();
  await others;

  expect(results.map(({ status }) => status)).toEqual(Array(connections).fill('rejected'));
  await until(() => late.length === connections, { what: 'the late statements' });
  expect(await written()).toEqual(Array(connections).fill('other'));
});

it('transactions that go well, that throw and that give a list are as ever', async () => {
  await db.transaction((tx) =>
    tx.transaction((nested) => nested.execute(sql`insert into written values ('nested')`)),
  );
  const thrown = new Error('of the callback');
  await expect(
    db.transaction(async (tx) => {
      await tx.execute(sql`insert into written values ('rolled back')`);
      throw thrown;
    }),
  ).rejects.toBe(thrown);
  await db.$client.begin('read write', (tx) => [tx`insert into written values ('list')`, tx`select 1`]);

  expect(await written()).toEqual(['nested', 'list']);
});

it('the client is what it was when the last worker has stopped', async () => {
  const guarded = db.$client.begin;
  const unguardAgain = guardTransactions(db);
  unguard();
  expect(db.$client.begin).toBe(guarded);

  unguardAgain();
  expect(db.$client.begin).not.toBe(guarded);
  unguard = guardTransactions(db);
});

async function backends(which: string): Promise<number[]> {
  const found = await database.sql.unsafe<{ pid: number }[]>(
    `select pid from pg_stat_activity where application_name = 'guarded' and ${which}`,
  );
  return found.map(({ pid }) => pid);
}

async function kill(count: number, which: string): Promise<void> {
  const found = await until(
    async () => {
      const now = await backends(which);
      return now.length === count && now;
    },
    { what: `${count} backends where ${which}` },
  );
  if (found) await database.sql`select pg_terminate_backend(pid) from unnest(${found}::int[]) as pid`;
}

/** How many connections the pool can still make use of. */
async function pids(): Promise<number> {
  const found = await Promise.all(
    Array.from({ length: connections }, () => db.$client`select pg_backend_pid() as pid, pg_sleep(0.2)`),
  );
  return new Set(found.map(([row]) => row?.['pid'])).size;
}

async function written(): Promise<string[]> {
  return (await database.sql<{ what: string }[]>`select what from written`).map(({ what }) => what);
}
