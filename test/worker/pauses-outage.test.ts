/** Pauses outlast the server, and a worker that has lost its connections learns what is paused before it claims again. */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres, { type Sql } from 'postgres';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createWorker, type Worker } from '../../src/worker.js';
import { readMigrations } from '../support/migrations.js';
import { type EmbeddedPostgres, startEmbedded } from '../support/postgres/index.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { queue, registry } from './pauses-stage.js';

let server: EmbeddedPostgres;
let sql: Sql;
const workers: { readonly worker: Worker; readonly client: Sql }[] = [];

beforeAll(async () => {
  server = await startEmbedded();
  sql = postgres(server.url, { onnotice: () => {}, backoff: () => 0.05 });
  for (const migration of await readMigrations()) await sql.unsafe(migration);
});
afterEach(async () => {
  for (const { worker, client } of workers.splice(0)) {
    await worker.stop({ graceMs: 0 });
    await client.end({ timeout: 1 });
  }
  await sql`truncate jobs, job_limits`;
});
afterAll(async () => {
  await sql.end({ timeout: 1 });
  await server.stop();
});

/** A worker that listens, what it ran, and what it told. */
async function start(url = server.url) {
  const client = postgres(url, { onnotice: () => {}, backoff: () => 0.05 });
  const ran: number[] = [];
  const told: string[] = [];
  const handler = ({ n }: { n: number }) => void ran.push(n);
  const worker = createWorker({
    db: drizzle({ client }),
    registry,
    queues: { default: 5, other: 5 },
    handlers: { task: handler, mail: handler, other: handler },
    log: false,
  });
  workers.push({ worker, client });
  for (const name of ['listening', 'paused', 'resumed'] as const) worker.on(name, () => told.push(name));
  await worker.start();
  await until(() => told.includes('listening'), { what: 'it to listen' });
  return { ran, told };
}

/** The backend that listens. */
const listener = async (): Promise<number> => {
  const [found] = await sql<{ pid: number }[]>`
    select pid from pg_locks
    where  locktype = 'advisory' and mode = 'ExclusiveLock'
      and  database = (select oid from pg_database where datname = current_database())`;
  return found?.pid ?? 0;
};

it.each(['fast', 'immediate'] as const)('a %s restart between pause and resume', async (mode) => {
  const db = drizzle({ client: sql });
  const { ran, told } = await start();
  await queue.pause(db, { queue: 'default' });
  await until(() => told.includes('paused'), { what: 'the pause' });
  await queue.enqueue(db, 'task', { n: 1 });
  await server.restart(mode);
  await until(() => queue.enqueue(db, 'other', { n: 2 }), { what: 'the server to take a job' });
  await until(() => ran.includes(2), { what: 'the job of the queue that goes on', timeoutMs: 20_000 });
  const late = await start();
  await queue.enqueue(db, 'other', { n: 3 });
  await until(() => ran.includes(3) || late.ran.includes(3), { what: 'one more of it' });
  expect([...ran, ...late.ran]).not.toContain(1);
  await queue.resume(db, { queue: 'default' });
  await until(() => ran.includes(1) || late.ran.includes(1), { what: 'the job that was paused' });
  await until(() => told.includes('resumed'), { what: 'both to know' });
  expect(told.filter((name) => name !== 'listening')).toEqual(['paused', 'resumed']);
});

it('a pause that came while the worker was cut off is known before its next claim', async () => {
  const db = drizzle({ client: sql });
  const proxy = await startTcpProxy(server.url);
  try {
    const { ran, told } = await start(proxy.url);
    proxy.cut();
    await queue.pause(db, { queue: 'default' });
    await queue.enqueue(db, 'task', { n: 1 });
    await queue.enqueue(db, 'other', { n: 2 });
    proxy.mend();
    await until(() => ran.includes(2), { what: 'the job of the queue that goes on', timeoutMs: 20_000 });
    await queue.enqueue(db, 'other', { n: 3 });
    await until(() => ran.includes(3), { what: 'one more of it' });
    expect(ran).not.toContain(1);
    await queue.resume(db, { queue: 'default' });
    await until(() => ran.includes(1), { what: 'the job that was paused', timeoutMs: 5_000 });
    expect(told.filter((name) => name !== 'listening')).toEqual(['paused', 'resumed']);
  } finally {
    await Promise.all(workers.map(({ worker }) => worker.stop({ graceMs: 0 })));
    await proxy.end();
  }
});

it('its listener is killed between pause and resume', async () => {
  const db = drizzle({ client: sql });
  const { ran, told } = await start();
  await queue.pause(db, { queue: 'default' });
  await until(() => told.includes('paused'), { what: 'the pause' });
  await queue.enqueue(db, 'task', { n: 1 });
  const pid = await listener();
  expect(pid).toBeGreaterThan(0);
  await db.transaction(async (tx) => {
    await queue.resume(tx, { queue: 'default' });
    await sql`select pg_terminate_backend(${pid})`;
  });
  await until(() => ran.includes(1), { what: 'the job', timeoutMs: 5_000 });
  expect(told.filter((name) => name !== 'listening')).toEqual(['paused', 'resumed']);

  await queue.pause(db, { kind: 'task' });
  await until(() => told.filter((name) => name === 'paused').length === 2, {
    what: 'the next pause',
    timeoutMs: 5_000,
  });
});
