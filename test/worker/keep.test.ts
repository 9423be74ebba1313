/**
 * Kinds that keep their rows: what the handler returned stays with the completed job, whichever way it ends, and of a run
 * that did not end it nothing is written.
 */
import { expect, it } from 'vitest';
import { createQueue } from '../../src/queue/queue.js';
import type { Handler } from '../../src/registry/handlers.js';
import { type JobOptions, job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import { createWorker } from '../../src/worker/worker.js';
import { useDatabase } from '../support/database.js';
import { row, whileHeld } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { watch } = useWorkers(database);

type Payload = { readonly n: number };
type Result = { readonly twice: number } | null;

/** A worker for a kind that keeps its rows, and for one on the same queue that does not. */
async function start(
  keeps: Handler<Payload, Result, 'keeps'>,
  options: JobOptions<Payload> & { readonly heartbeatMs?: number } = {},
) {
  const { heartbeatMs = 100, ...kind } = options;
  const registry = defineJobs({
    keeps: job<Payload, Result>(kind).onComplete('keep'),
    goes: job<Payload, Result>(),
  });
  const queue = createQueue(registry);
  const worker = createWorker({
    db: database.db,
    registry,
    queues: { default: 10 },
    handlers: { keeps, goes: ({ n }) => ({ twice: 2 * n }) },
    heartbeatMs,
    pollIntervalMs: 20,
    log: false,
  });
  const seen = watch(worker);
  await worker.start();
  const add = async (kind: 'keeps' | 'goes', n: number) => {
    const item = { kind, payload: { n } };
    return (await queue.enqueueMany(database.db, [item]))[0]?.id ?? 0;
  };
  return { worker, seen, add, queue };
}

/** What plain JavaScript may return. */
const returns = (value: unknown) => () => value as Result;

it('what the handler returned stays with the job, and jobs of other kinds go', async () => {
  const { add, seen } = await start(({ n }) => ({ twice: 2 * n }));
  const [kept, gone] = [await add('keeps', 21), await add('goes', 1)];
  await until(() => seen.completed.length === 2, { what: 'both ends' });
  expect(await row(database.sql, kept)).toMatchObject({
    state: 'completed',
    result: { twice: 42 },
    attempts: 1,
    lockedBy: null,
    finishedAt: expect.any(Date),
  });
  expect(await row(database.sql, gone)).toBeUndefined();
  expect(seen).toMatchObject({ lost: [], unknown: [], failed: [], error: [] });
});

it('many ends of both sorts in one turn each get what is theirs', async () => {
  const go = createGate();
  const { add, seen } = await start(async ({ n }) => {
    await go.passed;
    if (n % 5 === 0) throw new Error(`no luck with ${n}`);
    return { twice: 2 * n };
  });
  const numbers = Array.from({ length: 10 }, (_, n) => n);
  const ids = new Map<number, number>();
  for (const n of numbers) ids.set(n, await add('keeps', n));
  await until(() => seen.claimed.flatMap(({ jobs }) => jobs).length === 10, { what: 'all to run' });
  go.open();
  await until(() => seen.completed.length + seen.failed.length === 10, { what: 'all ends' });
  for (const n of numbers) {
    const expected =
      n % 5 === 0
        ? { state: 'available', result: null, lastError: expect.stringContaining(`no luck with ${n}`) }
        : { state: 'completed', result: { twice: 2 * n }, lastError: null };
    expect(await row(database.sql, ids.get(n) ?? 0)).toMatchObject(expected);
  }
});

it.each([
  ['null', null, 'null'],
  ['nothing', undefined, null],
])('a handler that returns %s leaves that', async (_, value, stored) => {
  const { add, seen } = await start(returns(value));
  await add('keeps', 1);
  await until(() => seen.completed.length, { what: 'the end' });
  expect(await database.sql`select state, result::text as result from jobs`).toEqual([
    { state: 'completed', result: stored },
  ]);
});

const circle: { self?: unknown } = {};
circle.self = circle;
it.each<[string, unknown, string]>([
  ['a circle', circle, 'result.self contains itself'],
  ['a bigint', { twice: 2n }, 'result.twice is a bigint'],
  ['a Date', new Date(0), 'result is a Date'],
  ['a NUL', { text: 'a\0b' }, 'result.text has a NUL character'],
  ['half of a pair', ['\ud83d'], 'result[0] has half of a surrogate pair'],
  ['a function', () => 1, 'result is a function'],
  ['a megabyte and more', 'x'.repeat(1_048_575), 'has 1048577 bytes as JSON, more than 1048576'],
])('an attempt whose handler returns %s fails, and says why', async (_, value, why) => {
  const { add, seen } = await start(returns(value), { maxAttempts: 2, retry: () => 0 });
  const id = await add('keeps', 1);
  await until(() => seen.discarded.length, { what: 'the last attempt' });
  expect(seen.discarded[0]?.error).toMatchObject({ code: 'INVALID_RESULT', data: { kind: 'keeps' } });
  expect(await row(database.sql, id)).toMatchObject({
    state: 'discarded',
    attempts: 2,
    result: null,
    lastError: expect.stringContaining(why),
  });
  expect(seen).toMatchObject({ completed: [], error: [] });
});

it('a result that comes after the time limit is not looked at', async () => {
  const [late, resolved] = [createGate(), createGate()];
  let asked = 0;
  const { add, seen, worker } = await start(
    async () => {
      await late.passed;
      queueMicrotask(() => queueMicrotask(() => queueMicrotask(resolved.open)));
      return circle as unknown as Result;
    },
    { timeoutMs: 50, maxAttempts: 1, retry: () => void asked++ },
  );
  const id = await add('keeps', 1);
  await until(() => seen.discarded.length, { what: 'the time limit' });
  late.open();
  await resolved.passed;
  await worker.stop();
  expect(asked).toBe(1);
  expect(await row(database.sql, id)).toMatchObject({
    state: 'discarded',
    lastError: expect.stringContaining('took longer than 50 ms'),
  });
});

it('a kind that keeps nothing may return what cannot be stored', async () => {
  const registry = defineJobs({ goes: job<void, Result>().onComplete('keep').onComplete('delete') });
  const worker = createWorker({
    db: database.db,
    registry,
    queues: { default: 1 },
    handlers: { goes: returns(circle) },
    pollIntervalMs: 20,
    log: false,
  });
  const seen = watch(worker);
  await worker.start();
  await createQueue(registry).enqueue(database.db, 'goes');
  await until(() => seen.completed.length, { what: 'the end' });
  expect(await database.sql`select from jobs`).toHaveLength(0);
});

it('a result whose run lost the job is not written', async () => {
  const [started, taken] = [createGate(), createGate()];
  const { add, seen } = await start(
    async () => {
      started.open();
      await taken.passed;
      return { twice: 1 };
    },
    { heartbeatMs: 10_000 },
  );
  const id = await add('keeps', 1);
  await started.passed;
  await database.sql`update jobs set locked_by = 'another/1' where id = ${id}`;
  taken.open();
  await until(() => seen.lost.length, { what: 'the loss' });
  expect(await row(database.sql, id)).toMatchObject({
    state: 'running',
    lockedBy: 'another/1',
    result: null,
  });
  expect(seen).toMatchObject({ lost: [{ during: 'finish' }], completed: [] });
});

it('an end whose row somebody holds is written later', async () => {
  const go = createGate();
  const { add, seen } = await start(async () => {
    await go.passed;
    return { twice: 1 };
  });
  const id = await add('keeps', 1);
  await until(() => seen.claimed.length, { what: 'the claim' });
  await whileHeld(database.sql, [id], async () => {
    go.open();
    await add('goes', 2);
    await until(() => seen.completed.length, { what: 'the end of another' });
    expect(await row(database.sql, id)).toMatchObject({ state: 'running', result: null });
  });
  await until(() => seen.completed.length === 2, { what: 'the end' });
  expect(await row(database.sql, id)).toMatchObject({ state: 'completed', result: { twice: 1 } });
});

it('a row that Postgres does not let be kept fails, and the error names the command', async () => {
  await database.sql.unsafe(`
    create function no_keep() returns trigger language plpgsql as $$ begin
      if new.state = 'completed' then return null; end if;
      return new;
    end $$;
    create trigger no_keep before update on jobs for each row execute function no_keep()`);
  try {
    const { add, seen } = await start(() => ({ twice: 1 }), { maxAttempts: 1 });
    const id = await add('keeps', 1);
    await until(() => seen.discarded.length, { what: 'the failure' });
    expect(seen.error).toMatchObject([
      { during: 'finish', error: { code: 'CHANGE_REFUSED', data: { ids: [id], command: 'update' } } },
    ]);
    expect(await row(database.sql, id)).toMatchObject({ state: 'discarded', result: null });
  } finally {
    await database.sql`drop function no_keep cascade`;
  }
});

it('an end that the database refuses for a while is written later', async () => {
  await database.sql.unsafe(`
    create sequence tries;
    create function refused_twice() returns trigger language plpgsql as $$ begin
      if new.state = 'completed' and nextval('tries') <= 2 then raise exception 'no' using errcode = '57014'; end if;
      return new;
    end $$;
    create trigger refused_twice before update on jobs for each row execute function refused_twice()`);
  try {
    const { add, seen } = await start(() => ({ twice: 1 }));
    const id = await add('keeps', 1);
    await until(() => seen.error.length === 2, { what: 'both refusals' });
    await until(() => seen.completed.length, { what: 'the end' });
    expect(await row(database.sql, id)).toMatchObject({ state: 'completed', result: { twice: 1 } });
    expect(seen).toMatchObject({ lost: [], failed: [], unknown: [] });
  } finally {
    await database.sql`drop function refused_twice cascade`;
    await database.sql`drop sequence tries`;
  }
});

it('a replay runs it again, from its first attempt and without its result', async () => {
  const again = createGate();
  let runs = 0;
  const { add, seen, queue } = await start(async ({ n }) => {
    if (++runs > 1) await again.passed;
    return { twice: n * runs };
  });
  const id = await add('keeps', 5);
  await until(() => seen.completed.length, { what: 'the end' });
  expect(await queue.replay(database.db, id)).toMatchObject({ result: 'done' });
  await until(() => runs === 2, { what: 'the second run' });
  expect(await row(database.sql, id)).toMatchObject({ state: 'running', attempts: 1, result: null });
  again.open();
  await until(() => seen.completed.length === 2, { what: 'the second end' });
  expect(await row(database.sql, id)).toMatchObject({ state: 'completed', result: { twice: 10 } });
});

it('the worker that ends a job decides: one whose registry keeps nothing deletes it', async () => {
  const kept = defineJobs({ keeps: job<Payload, Result>().onComplete('keep') });
  const older = defineJobs({ keeps: job<Payload, Result>() });
  const worker = createWorker({
    db: database.db,
    registry: older,
    queues: { default: 1 },
    handlers: { keeps: () => null },
    pollIntervalMs: 20,
    log: false,
  });
  const seen = watch(worker);
  await worker.start();
  await createQueue(kept).enqueue(database.db, 'keeps', { n: 1 });
  await until(() => seen.completed.length, { what: 'the end' });
  expect(await database.sql`select from jobs`).toHaveLength(0);
});
