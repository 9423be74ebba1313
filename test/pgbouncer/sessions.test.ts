/**
 * What the library leaves behind on the pooler's connections to the server, where the next client would meet it:
 * nothing. Each connection is looked at from inside, all of them held at the same time.
 */
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { given } from '../support/jobs.js';
import { until } from '../support/until.js';
import { type Task, useWorkers } from '../worker/stage.js';
import { type ClientName, callers, clients, reconnect, usePooler } from './stage.js';

const poolSize = 3;
const used = usePooler({ poolSize });
const { startTask } = useWorkers(used.direct);
const { enqueue, enqueueMany } = createQueue(defineJobs({ task: job<Task>() }));

type Left = {
  pid: number;
  prepared: string[];
  settings: string[];
  advisory: string[];
  channels: string[];
  cursors: string[];
  temporary: string[];
};
const nothing = { prepared: [], settings: [], advisory: [], channels: [], cursors: [], temporary: [] };

describe.each(clients)('on %s', (client) => {
  it('enqueues and a worker from start to stop leave nothing behind', async () => {
    await wholeStory(client);
    const servers = await serverPids();

    const left = await lookInside();

    expect(left.map(({ pid }) => pid).sort()).toEqual(servers.sort());
    expect(left).toEqual(left.map(({ pid }) => ({ pid, ...nothing })));
    const locks = await used.direct
      .sql`select locktype, mode from pg_locks where pid = any(${servers}::int[])`;
    expect(locks).toEqual([]);
  });
});

it('the look finds what somebody else leaves behind', async () => {
  await reconnect(used.pooler);
  const client = postgres(used.pooler.url, { max: 1, prepare: false, onnotice: () => {} });
  await client.begin(async (sql) => {
    await sql.unsafe(`
      set work_mem = '5MB'; prepare leak as select 1; select pg_advisory_lock(7); listen leak;
      declare leak cursor with hold for select 1; create temp table leak ()`);
  });
  await client.end();
  expect(await lookInside()).toContainEqual({
    pid: expect.any(Number),
    prepared: ['leak'],
    settings: ['work_mem'],
    advisory: ['ExclusiveLock'],
    channels: ['leak'],
    cursors: ['leak'],
    temporary: ['leak'],
  });
});

/** Every move, on all of the pooler's connections. */
async function wholeStory(client: ClientName): Promise<void> {
  const db = used.db(client);
  const failed = given(used.direct.sql);
  await failed.running({ kind: 'task', payload: { n: 4 }, heartbeatAgoS: 3_600, timeoutS: 1 });
  const { worker, seen } = await startTask(
    async ({ n }, run) => {
      if (n % 8 === 1) throw new Error('no luck');
      if (n % 8 === 2) return run.snooze({ delayMs: 60_000 });
      if (n % 8 === 3) await db.transaction((tx) => run.complete(tx));
      if (n % 8 === 5) return run.discard('not worth it');
      if (n % 8 === 7) await new Promise(() => {});
    },
    { db, slots: callers, retry: () => 60_000 },
  );
  await Promise.all(
    Array.from({ length: callers }, (_, n) =>
      db.transaction(async (tx) => {
        await enqueue(tx, 'task', { n });
        await tx.transaction((inner) => enqueueMany(inner, [{ kind: 'task', payload: { n } }]));
      }),
    ),
  );
  const ends = () => [seen.completed, seen.failed, seen.snoozed, seen.discarded].map(({ length }) => length);
  await until(() => seen.rescued.length === 1 && ends().every((count) => count >= 10), {
    what: 'every end',
  });
  await worker.stop({ graceMs: 0 });
  expect(seen.released).toHaveLength(10);
  expect(seen.error).toEqual([]);
}

/** What there is on each connection of the pooler to the server. */
async function lookInside(): Promise<Left[]> {
  const client = postgres(used.pooler.url, { max: poolSize, prepare: false, fetch_types: false });
  let held = 0;
  try {
    return await Promise.all(
      Array.from({ length: poolSize }, () =>
        client.begin(async (sql) => {
          await sql`select 1`;
          held++;
          await until(() => held === poolSize, { what: 'every connection to be held' });
          // The unnamed cursor is this statement's own; the settings left out are those that the pooler itself sets to what a client asked for.
          const [left] = await sql<[{ left: Left }]>`
            select json_build_object(
              'pid',       pg_backend_pid(),
              'prepared',  array(select name from pg_prepared_statements),
              'settings',  array(select name from pg_settings where source = 'session' and name not in (
                             'application_name', 'client_encoding', 'DateStyle', 'TimeZone',
                             'standard_conforming_strings')),
              'advisory',  array(select mode from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'),
              'channels',  array(select pg_listening_channels()),
              'cursors',   array(select name from pg_cursors where name <> ''),
              'temporary', array(select relname from pg_class where relnamespace = pg_my_temp_schema() and relkind = 'r')
            ) as left`;
          return left.left;
        }),
      ),
    );
  } finally {
    await client.end();
  }
}

async function serverPids(): Promise<number[]> {
  const name = new URL(used.direct.url).pathname.slice(1);
  const servers = await used.pooler.command('SHOW SERVERS');
  return servers.filter(({ database }) => database === name).map(({ remote_pid }) => Number(remote_pid));
}
