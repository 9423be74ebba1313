/**
 * A rolling deploy with real processes: while both releases enqueue and work, each job runs once, in the shape that its
 * worker knows; what the new release enqueues waits for a worker of it; and what the old one leaves behind is upgraded.
 */
import { beforeEach, expect, it } from 'vitest';
import { createQueue } from '../src/queue/queue.js';
import { useDatabase } from './support/database.js';
import { until } from './support/until.js';
import { useProcesses, type WorkerProcess } from './support/worker-process.js';
import { newRegistry, oldRegistry } from './worker/fixtures/release-registry.js';
import type { Config, Message } from './worker/fixtures/release-worker.js';

const database = useDatabase();
const processes = useProcesses();
const oldApp = createQueue(oldRegistry);
const newApp = createQueue(newRegistry);

beforeEach(() => database.sql`truncate jobs`);

it('rolls from one release to the next, and back, and loses nothing', async () => {
  const old = await start('old');
  await addOld(1, 200);
  await until(() => ran(old).length === 200, { what: 'the old release to work' });

  // Web processes are the first: the old workers leave what they enqueue.
  await addNew(201, 300);
  await addOld(301, 310);
  await until(async () => (await waiting()) === 100, { what: 'the old release to go on' });
  expect(ran(old)).toHaveLength(210);

  // Both work. Who gets an old job does not matter; a new one is for the new release.
  const fresh = await start('new');
  await Promise.all([addOld(311, 600), addNew(601, 900)]);
  await until(async () => (await waiting()) === 0, { what: 'both releases to run all' });

  // The old one goes, and leaves some behind.
  old.kill('SIGTERM');
  await old.exit;
  await addOld(901, 950);
  await until(async () => (await waiting()) === 0, { what: 'the new release to run old jobs' });

  // The deploy is rolled back: jobs of the new release wait for it.
  fresh.kill('SIGTERM');
  await fresh.exit;
  await addNew(951, 960);
  const back = await start('old');
  await addOld(961, 970);
  await until(async () => (await waiting()) === 10, { what: 'the old release to work again' });
  expect(ran(back)).toHaveLength(10);
  const again = await start('new');
  await until(() => ran(again).length === 10, { what: 'the new release to find what it left' });

  const all = [old, fresh, back, again].flatMap(ran);
  expect(all.map(({ n }) => n).sort((a, b) => a - b)).toEqual(Array.from({ length: 970 }, (_, n) => n + 1));
  expect(new Set(all.map(({ attempt }) => attempt))).toEqual(new Set([1]));
  for (const { n, kind, payload } of [old, back].flatMap(ran))
    expect({ kind, payload }).toEqual({ kind: n % 2 ? 'send_mail' : 'call', payload: { n, user: `${n}` } });
  for (const { n, kind, payload } of [fresh, again].flatMap(ran))
    expect({ kind, payload }).toEqual({ kind: n % 2 ? 'sendMail' : 'call', payload: { n, userId: n } });
}, 60_000);

async function start(release: Config['release']): Promise<WorkerProcess<Message>> {
  const child = processes.start<Message>('release-worker', { url: database.url, release } satisfies Config);
  await child.message(({ event }) => event === 'listening', `the worker of the ${release} release to listen`);
  return child;
}

function ran({ messages }: WorkerProcess<Message>) {
  return messages.filter((message) => message.event === 'ran');
}

async function addOld(from: number, to: number): Promise<void> {
  const list = numbers(from, to).map((n) => {
    const payload = { n, user: `${n}` };
    return n % 2 ? ({ kind: 'send_mail', payload } as const) : ({ kind: 'call', payload } as const);
  });
  await oldApp.enqueueMany(database.db, list);
}

/** The last ones alone: of such a job the workers are told by its id. */
async function addNew(from: number, to: number): Promise<void> {
  const list = numbers(from, to).map((n) => {
    const payload = { n, userId: n };
    return n % 2 ? ({ kind: 'sendMail', payload } as const) : ({ kind: 'call', payload } as const);
  });
  await newApp.enqueueMany(database.db, list.slice(0, -4));
  for (const { kind, payload } of list.slice(-4)) await newApp.enqueue(database.db, kind, payload);
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n);
}

async function waiting(): Promise<number> {
  const [found] = await database.sql<[{ n: number }]>`select count(*)::int as n from jobs`;
  return found.n;
}
