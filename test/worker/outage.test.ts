/**
 * Postgres goes away and comes back: restarts, killed backends, a start without a database, a lost answer. Workers are
 * processes of their own where the test is that they live.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createQueue } from '../../src/queue/queue.js';
import { untilServerHasRunFor } from '../support/jobs.js';
import { migrationsFolder } from '../support/migrations.js';
import { asAdmin, type EmbeddedPostgres, startEmbedded } from '../support/postgres/index.js';
import { until } from '../support/until.js';
import { useProcesses, type WorkerProcess } from '../support/worker-process.js';
import { registry } from './fixtures/task-registry.js';
import type { Config, Message } from './fixtures/task-worker.js';

const processes = useProcesses();
const { enqueueMany } = createQueue(registry);
let server: EmbeddedPostgres;

beforeAll(async () => {
  server = await startEmbedded();
  await asAdmin(server.url, async (sql) => {
    await migrate(drizzle({ client: sql }), { migrationsFolder });
    await sql`create table ledger (job bigint, attempt int, pid int)`;
  });
});
afterAll(() => server.stop());

describe.each(['postgres.js', 'node-postgres'] as const)('a worker on %s', (driver) => {
  it.each(['fast', 'immediate'] as const)(
    'writes what ended during a %s restart, and runs nothing twice',
    async (mode) => {
      const child = start({ driver });
      await add(20, 'wait');
      await untilCount(child, 'handling', 20);

      await server.halt(mode);
      await child.message(({ event }) => event === 'error', 'a failed statement');
      child.send('open');
      await untilCount(child, 'handled', 20);
      await server.start();

      await untilNoneLeft();
      await child.message(({ event }) => event === 'completed', 'its first event after the restart');
      expect(count(child, 'handling')).toBe(20);
      await expectCleanEnd(child);
    },
  );

  it('goes on with new jobs after a restart', async () => {
    const child = start({ driver });
    await child.message(({ event }) => event === 'started', 'its start');
    await add(1, 'nothing');
    await untilNoneLeft();

    await server.restart('immediate');
    await add(5, 'nothing');

    await untilNoneLeft();
    await expectCleanEnd(child);
  });

  it('lives when each of its backends is terminated, again and again', async () => {
    const child = start({ driver });
    await add(300, 'nothing');
    await untilCount(child, 'handling', 1);
    let terminated = 0;
    await until(
      () =>
        asAdmin(server.url, async (sql) => {
          const [killed] = await sql<{ n: number; left: number }[]>`
            select count(pg_terminate_backend(pid))::int as n, (select count(*)::int from jobs) as left
            from   pg_stat_activity where application_name = 'child worker'`;
          terminated += killed?.n ?? 0;
          if (terminated < 10) await add(10, 'nothing');
          return terminated >= 10;
        }),
      { what: 'ten backends to be terminated' },
    );

    await untilNoneLeft();
    await expectCleanEnd(child);
  });

  it('begins to work when the database comes up after it', async () => {
    await add(3, 'nothing');
    await server.halt();
    const child = start({ driver });
    await child.message(({ event }) => event === 'error', 'a failed statement');

    await server.start();

    await untilNoneLeft();
    await expectCleanEnd(child);
  });
});

it('an outage longer than the rescue limit costs live workers none of their jobs', async () => {
  const children = [
    start({ driver: 'postgres.js', slots: 5, backoffS: 0.1 }),
    start({ driver: 'node-postgres', slots: 5 }),
  ];
  await add(10, 'wait');
  for (const child of children) await untilCount(child, 'handling', 5);

  await server.halt('immediate');
  // The one bounded wait of the suite: the outage itself has to be longer than rescueAfterMs, and with the server
  // down there is nothing to look at meanwhile.
  await delay(2_500);
  await server.start();
  // From here on every heartbeat is older than the limit, and no start of the server excuses that.
  await asAdmin(server.url, (sql) => untilServerHasRunFor(sql, 2));
  for (const child of children) child.send('open');

  await untilNoneLeft();
  for (const child of children) {
    expect(child.messages.filter(({ event }) => event === 'rescued' || event === 'lost')).toEqual([]);
    expect(count(child, 'handling')).toBe(5);
    await expectCleanEnd(child);
  }
});

function start(config: Omit<Config, 'url'>): WorkerProcess<Message> {
  return processes.start('task-worker', { url: server.url, ...config });
}

function add(n: number, does: 'wait' | 'nothing'): Promise<unknown> {
  const list = Array.from({ length: n }, (_, i) => ({ kind: 'task', payload: { n: i, does } }) as const);
  return asAdmin(server.url, (sql) => enqueueMany(drizzle({ client: sql }), list));
}

const count = (child: WorkerProcess<Message>, event: Message['event']) =>
  child.messages.filter((message) => message.event === event).length;

function untilCount(child: WorkerProcess<Message>, event: Message['event'], n: number): Promise<boolean> {
  return until(() => count(child, event) >= n, { what: `${n} times ${event}: ${child.output()}` });
}

/** The connection of the test itself is new for every look, since the server may just have come back. */
async function untilNoneLeft(): Promise<void> {
  const sql = postgres(server.url, { max: 1 });
  try {
    await until(async () => (await sql`select from jobs`).length === 0, {
      what: 'every job to end',
      timeoutMs: 15_000,
    });
  } finally {
    await sql.end();
  }
}

/** No stray error has ended the process, and it can still stop as it should. */
async function expectCleanEnd(child: WorkerProcess<Message>): Promise<void> {
  child.kill('SIGTERM');
  await expect(child.exit, child.output()).resolves.toEqual({ code: 0, signal: null });
}
