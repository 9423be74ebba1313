/** The Postgres behind the pooler crashes and comes back while jobs run; the pooler stays. */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import { readMigrations } from '../support/migrations.js';
import { asAdmin, type EmbeddedPostgres, startEmbedded } from '../support/postgres/index.js';
import { type PgBouncer, startPgBouncer } from '../support/postgres/pgbouncer.js';
import { until } from '../support/until.js';
import { createGate } from '../worker/gate.js';
import { clients, connectors, untilOneWaits } from './stage.js';

const registry = defineJobs({ task: job<{ n: number }>() });
const { enqueueMany } = createQueue(registry);
const list = Array.from({ length: 20 }, (_, n) => ({ kind: 'task', payload: { n } }) as const);

let server: EmbeddedPostgres;
let pooler: PgBouncer;
beforeAll(async () => {
  server = await startEmbedded();
  for (const migration of await readMigrations()) await asAdmin(server.url, (sql) => sql.unsafe(migration));
  pooler = await startPgBouncer(server.url);
});
afterAll(async () => {
  await pooler.stop();
  await server.stop();
});

describe.each(clients)('on %s', (client) => {
  it('jobs that ended meanwhile are written, those that wait are run, and none runs twice', async () => {
    const { db, end } = connectors[client](pooler.url, false);
    const gate = createGate();
    const [ran, lost]: [number[], unknown[]] = [[], []];
    const worker = createWorker({
      db,
      registry,
      queues: { default: 10 },
      heartbeatMs: 100,
      pollIntervalMs: 20,
      log: false,
      handlers: {
        task: async ({ n }) => {
          ran.push(n);
          await gate.passed;
        },
      },
    });
    worker.on('lost', (event) => lost.push(event));
    await asAdmin(server.url, (sql) => enqueueMany(drizzle({ client: sql }), list));
    await worker.start();
    await until(() => ran.length === 10, { what: 'ten jobs at work' });

    await server.halt('immediate');
    await untilOneWaits(pooler);
    gate.open();
    await server.start();

    const sql = postgres(server.url, { max: 1 });
    await until(async () => (await sql`select id from jobs`).length === 0, {
      what: 'every job to end',
      timeoutMs: 20_000,
    });
    await sql.end();
    await worker.stop();
    await end();
    expect(ran.sort((a, b) => a - b)).toEqual(list.map(({ payload }) => payload.n));
    expect(lost).toEqual([]);
  });
});
