/**
 * The pooler is killed, paused, told to reconnect, or loses its connections to the server while jobs run: the worker
 * comes back, and every job runs once.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { until } from '../support/until.js';
import { createGate } from '../worker/gate.js';
import { type Seen, type Task, useWorkers } from '../worker/stage.js';
import { type ClientName, clients, untilNobodyConnects, untilOneWaits, usePooler } from './stage.js';

const used = usePooler({ poolSize: 3, fetchTypes: false });
const { startTask } = useWorkers(used.direct);
const { enqueueMany } = createQueue(defineJobs({ task: job<Task>() }));

let ran: number[];
beforeEach(() => {
  ran = [];
});

describe.each(clients)('on %s', (client) => {
  it('jobs that end while the pooler is away are written when it is back', async () => {
    const { seen, open } = await fiveAtWork(client);

    await used.pooler.kill();
    await until(() => seen.error.length, { what: 'a failed statement' });
    open();
    await used.pooler.start();

    await expectEachRanOnce(10);
    expect(seen.lost).toEqual([]);
  });

  it('a pooler killed again and again, in the middle of statements, loses nothing', async () => {
    const { seen } = await startTask(note, { db: used.db(client), slots: 10 });
    await add(1_000);
    for (const round of [1, 2, 3]) {
      const before = ran.length;
      await until(() => ran.length > before, { what: `round ${round} to be under way` });
      await used.pooler.kill();
      await used.pooler.start();
    }

    await expectEachRanOnce(1_000);
    expect(seen.lost).toEqual([]);
  });

  it('connections to the server that are terminated, again and again, lose nothing', async () => {
    const { seen } = await startTask(note, { db: used.db(client), slots: 10 });
    await add(1_000);
    let terminated = 0;
    await until(
      async () => {
        const pids = await serverPids();
        const [killed] = await used.direct.sql<{ n: number }[]>`
          select count(pg_terminate_backend(pid))::int as n from pg_stat_activity where pid = any(${pids}::int[])`;
        terminated += killed?.n ?? 0;
        return terminated >= 10;
      },
      { what: 'ten connections to be terminated' },
    );

    await expectEachRanOnce(1_000);
    expect(seen.lost).toEqual([]);
  });

  it('RECONNECT gives other connections to the server, and no statement fails', async () => {
    const { seen, open } = await fiveAtWork(client);
    const before = await serverPids();

    await used.pooler.command('RECONNECT');
    await until(async () => (await serverPids()).every((pid) => !before.includes(pid)), {
      what: 'the connections of before to be gone',
    });
    open();

    await expectEachRanOnce(10);
    expect(before).not.toEqual([]);
    expect([seen.error, seen.lost]).toEqual([[], []]);
  });

  it('statements wait while the pooler is paused, and none fails', async () => {
    const { seen, open } = await fiveAtWork(client);

    await used.pooler.command('PAUSE');
    open();
    await untilOneWaits(used.pooler);
    expect(seen.completed).toEqual([]);
    await used.pooler.command('RESUME');

    await expectEachRanOnce(10);
    expect([seen.error, seen.lost]).toEqual([[], []]);
  });

  it('KILL breaks every connection, and the worker comes back with RESUME', async () => {
    const { seen, open } = await fiveAtWork(client);
    const name = new URL(used.direct.url).pathname.slice(1);

    await used.pooler.command(`KILL ${name}`);
    open();
    await untilOneWaits(used.pooler);
    expect(seen.completed).toEqual([]);
    await used.pooler.command(`RESUME ${name}`);

    await expectEachRanOnce(10);
    expect(seen.lost).toEqual([]);
  });
});

function note({ n }: Task): void {
  ran.push(n);
}

/** Ten jobs, of which five run until they are let go on; every connection that this takes is made by then. */
async function fiveAtWork(client: ClientName): Promise<{ seen: Seen; open: () => void }> {
  const gate = createGate();
  const { seen } = await startTask(
    async (task) => {
      note(task);
      await gate.passed;
    },
    { db: used.db(client), slots: 5 },
  );
  await add(10);
  await until(() => ran.length === 5, { what: 'five jobs at work' });
  await until(() => seen.problem.length, { what: 'the worker to give up its session, behind a pooler' });
  await untilNobodyConnects(used.pooler);
  return { seen, open: gate.open };
}

async function add(count: number): Promise<void> {
  const list = Array.from({ length: count }, (_, n) => ({ kind: 'task', payload: { n } }) as const);
  await enqueueMany(used.direct.db, list);
}

async function expectEachRanOnce(count: number): Promise<void> {
  const { sql } = used.direct;
  await until(async () => (await sql`select from jobs`).length === 0, {
    what: 'every job to end',
    timeoutMs: 20_000,
  });
  expect([...ran].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n));
}

/** The server's processes behind the pooler. */
async function serverPids(): Promise<number[]> {
  const name = new URL(used.direct.url).pathname.slice(1);
  const servers = await used.pooler.command('SHOW SERVERS');
  return servers.filter(({ database }) => database === name).map(({ remote_pid }) => Number(remote_pid));
}
