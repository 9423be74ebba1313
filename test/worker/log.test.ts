/**
 * Log lines: one a thing worth reading, on one line, whatever rows and errors contain.
 */
import { sql } from 'drizzle-orm';
import { beforeAll, expect, it, vi } from 'vitest';
import { createQueue } from '../../src/queue/queue.js';
import { job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import { createEvents, type JobInfo } from '../../src/worker/events.js';
import { logEvents } from '../../src/worker/log.js';
import { createWorker } from '../../src/worker/worker.js';
import { useDatabase } from '../support/database.js';
import { given, untilServerHasRunFor } from '../support/jobs.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { watch } = useWorkers(database);
const registry = defineJobs({ task: job({ maxAttempts: 2, retry: () => 0 }) });
const { enqueue } = createQueue(registry);

beforeAll(() => untilServerHasRunFor(database.sql, 2));

type Lines = { info: string[]; warn: string[]; error: string[] };

function keepLines() {
  const lines: Lines = { info: [], warn: [], error: [] };
  const log = {
    info: (line: string) => void lines.info.push(line),
    warn: (line: string) => void lines.warn.push(line),
    error: (line: string) => void lines.error.push(line),
  };
  return { lines, log };
}

const info: JobInfo = { id: 7, queue: 'default', kind: 'task', attempt: 1, maxAttempts: 3, lockedBy: 'w/1' };

it('tells of a job that fails, is tried again and is given up', async () => {
  const { lines, log } = keepLines();
  const worker = createWorker({
    db: database.db,
    registry,
    queues: { default: 1 },
    handlers: {
      task: () => {
        throw new Error('no luck');
      },
    },
    pollIntervalMs: 20,
    log,
  });
  const seen = watch(worker);
  await worker.start();
  const { id } = await enqueue(database.db, 'task');
  await until(() => seen.discarded.length, { what: 'the end' });
  await worker.stop();

  expect(lines.info).toEqual([
    `drizzle-queue: worker ${worker.name} started`,
    'drizzle-queue: stopping, 0 running',
    'drizzle-queue: stopped',
  ]);
  expect(lines.warn).toEqual([
    expect.stringMatching(
      new RegExp(
        `^drizzle-queue: task ${id} \\(attempt 1 of 2\\) failed, again in -?\\d+ ms: Error: no luck$`,
      ),
    ),
  ]);
  expect(lines.error).toEqual([`drizzle-queue: task ${id} (attempt 2 of 2) discarded: Error: no luck`]);
});

it('keeps control characters and line breaks of rows and errors out', async () => {
  const evil = 'a\nb\r\u001b[2Jc\u009bd\u2028e\u202ef\u0007';
  await given(database.sql).running({ kind: evil, lockedBy: `${evil}/1`, heartbeatAgoS: 3_600, timeoutS: 1 });
  const { lines, log } = keepLines();
  const worker = createWorker({
    db: database.db,
    registry,
    queues: { default: 1 },
    handlers: {
      task: () => {
        throw Object.assign(new Error(evil), { name: evil });
      },
    },
    heartbeatMs: 100,
    pollIntervalMs: 20,
    log,
  });
  const seen = watch(worker);
  await worker.start();
  await enqueue(database.db, 'task', undefined, { maxAttempts: 1 });
  await until(() => seen.discarded.length && seen.rescued.length, { what: 'the end and the rescue' });

  const all = [...lines.info, ...lines.warn, ...lines.error];
  expect(all.some((line) => line.includes('rescued from'))).toBe(true);
  expect(all.some((line) => line.includes('discarded'))).toBe(true);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
  for (const line of all) expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/);
});

it('says what the driver said, not the whole query', async () => {
  const { lines, log } = keepLines();
  const events = createEvents();
  logEvents(events, log);
  const error = await database.db.execute(sql`select * from no_such_table`).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  events.emit('error', { error, during: 'claim', retryInMs: 99.6 });
  expect(lines.error).toEqual([
    'drizzle-queue: claim failed, again in 100 ms: PostgresError: relation "no_such_table" does not exist',
  ]);
});

it.each(['a revoked Proxy', 'null'])('has a line for %s that was thrown', (what) => {
  const { lines, log } = keepLines();
  const events = createEvents();
  logEvents(events, log);
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  events.emit('discarded', { job: info, error: what === 'null' ? null : proxy, durationMs: 1 });
  expect(lines.error).toEqual([
    expect.stringMatching(/^drizzle-queue: task 7 \(attempt 1 of 3\) discarded: \S+/),
  ]);
});

it('warns of ends that could not be written', () => {
  const { lines, log } = keepLines();
  const events = createEvents();
  logEvents(events, log);
  events.emit('stopped', { unwritten: 2 });
  expect(lines.warn).toEqual([
    'drizzle-queue: stopped; 2 outcomes could not be written, those jobs will be rescued',
  ]);
});

it('goes to the console when nothing is said, and nowhere when that is asked for', async () => {
  const console = vi.spyOn(globalThis.console, 'info').mockImplementation(() => {});
  const options = {
    db: database.db,
    registry,
    queues: { default: 1 },
    handlers: { task: () => {} },
  } as const;
  const [loud, silent] = [createWorker(options), createWorker({ ...options, log: false })];
  for (const worker of [loud, silent]) {
    await worker.start();
    await worker.stop();
  }
  const lines = console.mock.calls.flat();
  console.mockRestore();
  expect(lines).toContain(`drizzle-queue: worker ${loud.name} started`);
  expect(lines.join()).not.toContain(silent.name);
});

it('a log that throws does not reach the worker', async () => {
  const broken = () => {
    throw new Error('EPIPE');
  };
  const worker = createWorker({
    db: database.db,
    registry,
    queues: { default: 1 },
    handlers: { task: () => {} },
    pollIntervalMs: 20,
    log: { info: broken, warn: broken, error: broken },
  });
  const seen = watch(worker);
  await worker.start();
  await enqueue(database.db, 'task');
  await until(() => seen.completed.length, { what: 'the end' });
  await worker.stop();
  expect(seen.error[0]).toMatchObject({ during: 'listener', retryInMs: null });
});

it('tells what is paused and resumed, whatever it is called', () => {
  const { lines, log } = keepLines();
  const events = createEvents();
  logEvents(events, log);
  events.emit('paused', { queue: 'mail' });
  events.emit('paused', { kind: 'send\nReceipt' });
  events.emit('resumed', { queue: 'mail' });
  expect(lines).toEqual({
    info: [
      'drizzle-queue: queue mail is paused',
      'drizzle-queue: kind send Receipt is paused',
      'drizzle-queue: queue mail is resumed',
    ],
    warn: [],
    error: [],
  });
});
