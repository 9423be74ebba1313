/** `queue.wait`: how each end of a job comes to the one who waits, and how long that takes at most. */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createQueue, type Database, defineJobs, job, QueueError } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { given } from '../support/jobs.js';
import { withDatabase } from '../support/template.js';
import { until } from '../support/until.js';
import { logged } from './stage.js';

const database = useDatabase();
beforeEach(() => database.sql`truncate jobs`);

const registry = defineJobs({
  count: job<{ n: number }, { twice: number } | null>().onComplete('keep'),
  sweep: job().queue('mail').onComplete('keep'),
  ping: job(),
});
const queue = createQueue(registry);
const kind = 'count';

/** Ends a running job as a worker would. */
const complete = (id: number, result: string | null) => database.sql`
  update jobs
  set    state = 'completed', finished_at = now(), result = ${result}::text::jsonb,
         locked_by = null, heartbeat_at = null, started_at = null
  where  id = ${id}`;

/** What it rejects with. */
const reason = (waiting: Promise<unknown>) =>
  waiting.then(
    (result) => expect.unreachable(`it gave ${JSON.stringify(result)}`),
    (error: unknown) => error,
  );

describe('a job that is over', () => {
  it('completed gives its result at once', async () => {
    const id = await given(database.sql).running({ kind });
    await complete(id, '{"twice": 4}');
    const { db, statements } = logged(database.db.$client);
    expect(await queue.wait(db, kind, id)).toEqual({ twice: 4 });
    expect(statements).toHaveLength(1);
  });

  it.each([
    ['null', 'null', null],
    ['nothing', null, undefined],
  ])('with a result of %s gives that', async (_, stored, result) => {
    const id = await given(database.sql).running({ kind });
    await complete(id, stored);
    expect(await queue.wait(database.db, kind, id)).toBe(result);
  });

  it('discarded rejects with its error', async () => {
    const lastError = 'Error: no luck\n    at work (a.ts:1)';
    const id = await given(database.sql).discarded({ kind, lastError });
    const error = await reason(queue.wait(database.db, kind, id));
    expect(error).toBeInstanceOf(QueueError);
    expect(error).toMatchObject({
      code: 'JOB_DISCARDED',
      message: `Job ${id}, awaited as "count", was discarded: Error: no luck.`,
      data: { id, kind, lastError },
    });
  });

  it('discarded without an error says as much', async () => {
    const id = await given(database.sql).discarded({ kind, lastError: null });
    expect(await reason(queue.wait(database.db, kind, id))).toMatchObject({
      code: 'JOB_DISCARDED',
      message: `Job ${id}, awaited as "count", was discarded.`,
      data: { lastError: null },
    });
  });

  it('cancelled rejects', async () => {
    const id = await given(database.sql).cancelled({ kind });
    expect(await reason(queue.wait(database.db, kind, id))).toMatchObject({
      code: 'JOB_CANCELLED',
      data: { id, kind },
    });
  });

  it('that is not there, or of another kind, rejects', async () => {
    const id = await given(database.sql).completed({ kind: 'sweep' });
    expect(await reason(queue.wait(database.db, kind, id))).toMatchObject({
      code: 'JOB_NOT_FOUND',
      message: `Job ${id}, awaited as "count", is of the kind "sweep".`,
    });
    expect(await reason(queue.wait(database.db, kind, id + 1))).toMatchObject({
      code: 'JOB_NOT_FOUND',
      message: expect.stringContaining('is not there: it was removed, its transaction has not committed, or'),
    });
  });
});

describe('a job that is not over', () => {
  it.each(['available', 'running'] as const)('%s is looked at once where there is no time', async (state) => {
    const id = await given(database.sql)[state]({ kind });
    const { db, statements } = logged(database.db.$client);
    expect(await reason(queue.wait(db, kind, id, { timeoutMs: 0 }))).toMatchObject({
      code: 'WAIT_TIMEOUT',
      message: `Job ${id}, awaited as "count", was ${state} after 0 ms; it goes on.`,
      data: { id, kind, timeoutMs: 0, state },
    });
    expect(statements).toHaveLength(1);
  });

  it('is waited for, through each of its states, with pauses that grow', async () => {
    const id = await given(database.sql).available({ kind });
    const { db, statements } = logged(database.db.$client);
    const began = performance.now();
    const waiting = queue.wait(db, kind, id);
    await until(() => statements.length >= 10, { what: 'ten looks' });
    // Ten looks at the shortest pause would take 0.2 s.
    expect(performance.now() - began).toBeGreaterThan(250);
    await complete(id, '{"twice": 6}');
    expect(await waiting).toEqual({ twice: 6 });
  });

  it('looks a last time at the limit', async () => {
    const id = await given(database.sql).running({ kind });
    const { db, statements } = logged(database.db.$client);
    const began = performance.now();
    const error = await reason(queue.wait(db, kind, id, { timeoutMs: 100 }));
    const tookMs = performance.now() - began;
    expect(error).toMatchObject({ code: 'WAIT_TIMEOUT' });
    expect(tookMs).toBeGreaterThanOrEqual(100);
    expect(tookMs).toBeLessThan(1_000);
    expect(statements.length).toBeGreaterThan(2);
  });

  it('that is removed rejects', async () => {
    const id = await given(database.sql).available({ kind });
    const waiting = reason(queue.wait(database.db, kind, id));
    await queue.remove(database.db, id);
    expect(await waiting).toMatchObject({ code: 'JOB_NOT_FOUND' });
  });

  it('that is cancelled rejects', async () => {
    const id = await given(database.sql).available({ kind });
    const waiting = reason(queue.wait(database.db, kind, id));
    await queue.cancel(database.db, id);
    expect(await waiting).toMatchObject({ code: 'JOB_CANCELLED' });
  });
});

describe('a database that does not answer', () => {
  const client = { end: async () => {} };
  afterAll(() => client.end());

  it('ends the wait within its limit and a second', async () => {
    const id = await given(database.sql).running({ kind });
    const sql = postgres(database.url, { max: 1, onnotice: () => {} });
    client.end = () => sql.end();
    const holder = await sql.reserve(); // the pool has no other
    const began = performance.now();
    const error = await reason(queue.wait(drizzle({ client: sql }), kind, id, { timeoutMs: 50 }));
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(error).toMatchObject({
      code: 'WAIT_TIMEOUT',
      message: `Job ${id}, awaited as "count", could not be looked at after 50 ms; it goes on.`,
      cause: { code: 'STATEMENT_TIMEOUT' },
    });
    holder.release();
  });

  it('is an error like any other where it says so', async () => {
    const sql = postgres(withDatabase(database.url, 'no_such_database'), { onnotice: () => {} });
    try {
      await expect(queue.wait(drizzle({ client: sql }), kind, 1)).rejects.toMatchObject({
        cause: { code: '3D000' },
      });
    } finally {
      await sql.end();
    }
  });
});

describe('wait refuses before any SQL', () => {
  const wrong: readonly [string, readonly unknown[], object][] = [
    ['a kind that nobody defined', ['cuont', 1], { code: 'UNKNOWN_KIND' }],
    [
      'a kind whose rows go',
      ['ping', 1],
      {
        code: 'KIND_NOT_KEPT',
        message: expect.stringContaining("Define the kind with job(…).onComplete('keep')."),
        data: { kind: 'ping' },
      },
    ],
    ['a text as an id', [kind, '1'], { code: 'INVALID_OPTION', data: { option: 'id' } }],
    ['what enqueue gave', [kind, { id: 1 }], { code: 'INVALID_OPTION', data: { option: 'id' } }],
    ['no id', [kind], { code: 'INVALID_OPTION', data: { option: 'id' } }],
    ['ms in place of options', [kind, 1, 5_000], { code: 'INVALID_OPTION' }],
    ['an unknown option', [kind, 1, { timeout: 5 }], { code: 'INVALID_OPTION', data: { option: 'timeout' } }],
    ...[-1, 0.5, 86_400_001, Number.NaN, Number.POSITIVE_INFINITY, '5'].map(
      (timeoutMs): [string, readonly unknown[], object] => [
        `a limit of ${timeoutMs}`,
        [kind, 1, { timeoutMs }],
        { code: 'INVALID_OPTION', data: { option: 'timeoutMs' } },
      ],
    ),
  ];
  it.each(wrong)('%s', async (_, given, error) => {
    const { db, statements } = logged(database.db.$client);
    const refused: Promise<unknown> = Reflect.apply(queue.wait, undefined, [db, ...given]);
    expect(await reason(refused)).toMatchObject(error);
    expect(statements).toEqual([]);
  });

  it('a transaction', async () => {
    const wait = async (db: unknown) => reason(Reflect.apply(queue.wait, undefined, [db, kind, 1]));
    await database.db.transaction(async (tx) => {
      expect(await wait(tx)).toMatchObject({
        code: 'INVALID_EXECUTOR',
        message: expect.stringContaining('Expected `db`, got a transaction'),
      });
    });
    expect(await wait(undefined)).toMatchObject({ code: 'INVALID_EXECUTOR' });
  });
});

it('works detached, and where enqueues need a transaction', async () => {
  const { wait } = createQueue(registry, { requireTransaction: true });
  const id = await given(database.sql).completed({ kind: 'sweep', queue: 'mail' });
  const db: Database = database.db;
  expect(await wait(db, 'sweep', id)).toBeUndefined();
});
