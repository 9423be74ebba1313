/** What reading refuses before any SQL, what it costs, and pages whose jobs are large or come and go. */
import { beforeEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job, QueueError } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { fill, given } from '../support/jobs.js';
import { logged, queue, registry } from './stage.js';

const database = useDatabase();
beforeEach(() => database.sql`truncate jobs`);

const noIds = [0, -1, 1.5, 2 ** 53, Number.NaN, '1', 1n, null, undefined, new Date(), [1]];
const noFilters = [null, 5, 'ping', [], new Set(), new Date(), Object.create({ kind: 'ping' })];

interface Wrong {
  readonly method: 'get' | 'list' | 'counts' | 'deadLetters';
  readonly given: readonly unknown[];
  readonly error?: object;
}
const filtered = ['list', 'counts', 'deadLetters'] as const;
const option = (name: string) => ({ data: { option: name } });
const wrong: readonly Wrong[] = [
  ...noIds.map((id): Wrong => ({ method: 'get', given: [id], error: option('id') })),
  ...filtered.flatMap((method) => noFilters.map((filter): Wrong => ({ method, given: [filter] }))),
  ...filtered.flatMap((method): Wrong[] => [
    {
      method,
      given: [{ kinds: 'ping' }],
      error: { message: expect.stringContaining('Did you mean "kind"') },
    },
    { method, given: [{ kind: '' }], error: option('kind') },
    { method, given: [{ kind: ['ping'] }], error: option('kind') },
    { method, given: [{ queue: '\0' }], error: option('queue') },
  ]),
  ...(['list', 'counts'] as const).flatMap((method) =>
    ['done', '', 1, null, ['running']].map(
      (state): Wrong => ({ method, given: [{ state }], error: option('state') }),
    ),
  ),
  { method: 'deadLetters', given: [{ state: 'discarded' }], error: option('state') },
  ...(['list', 'deadLetters'] as const).flatMap((method): Wrong[] => [
    { method, given: [{ finishedBefore: 'yesterday' }], error: option('finishedBefore') },
    { method, given: [{ finishedAfter: Date.now() }], error: option('finishedAfter') },
    { method, given: [{ errorMatches: '' }], error: option('errorMatches') },
    { method, given: [{ errorMatches: /luck/ }], error: option('errorMatches') },
    ...[0, -1, 1.5, 1_001, '5', Number.NaN].map(
      (limit): Wrong => ({ method, given: [{ limit }], error: option('limit') }),
    ),
  ]),
  { method: 'counts', given: [{ limit: 5 }], error: option('limit') },
  { method: 'list', given: [{ order: 'newest first' }], error: option('order') },
  ...noIds
    .filter((id) => id !== undefined)
    .map((after): Wrong => ({ method: 'list', given: [{ after }], error: option('after') })),
];

it.each(wrong)(
  '$method refuses $given by a rejection, before any SQL',
  async ({ method, given, error = {} }) => {
    const { db, statements } = logged(database.db.$client);
    // Not awaited at once: a throw in place of a rejection would fail here.
    const refused: Promise<unknown> = Reflect.apply(queue[method], undefined, [db, ...given]);
    const reason = await refused.catch((reason: unknown) => reason);
    expect(reason).toBeInstanceOf(QueueError);
    expect(reason).toMatchObject({ code: 'INVALID_OPTION', ...error });
    expect(statements).toEqual([]);
  },
);

it.each(['get', ...filtered] as const)('%s refuses what is no database, by a rejection', async (method) => {
  const refused: Promise<unknown> = Reflect.apply(queue[method], undefined, [database.sql, 1]);
  await expect(refused).rejects.toMatchObject({ code: 'INVALID_EXECUTOR' });
});

it('is one statement each, also where enqueues need a transaction', async () => {
  const id = await given(database.sql).discarded({ kind: 'ping' });
  const { get, list, counts, deadLetters } = createQueue(registry, { requireTransaction: true });
  const { db, statements } = logged(database.db.$client);
  expect(await get(db, id)).toMatchObject({ id, kind: 'ping' });
  expect((await list(db)).jobs).toMatchObject([{ id }]);
  expect(await counts(db)).toMatchObject([{ kind: 'ping', discarded: 1 }]);
  expect(await deadLetters(db)).toMatchObject([{ kind: 'ping', ids: [id] }]);
  expect(statements).toHaveLength(4);
});

it('reads jobs of kinds that the registry does not have', async () => {
  const id = await given(database.sql).available({ kind: 'of another release' });
  expect(await queue.get(database.db, id)).toMatchObject({ kind: 'of another release' });
  expect((await queue.list(database.db)).jobs).toHaveLength(1);
  expect(await queue.counts(database.db)).toMatchObject([{ kind: 'of another release', due: 1 }]);
});

it('reads a table of another schema', async () => {
  const { queueTables } = await import('../../src/schema.js');
  const { pgSchema } = await import('drizzle-orm/pg-core');
  await database.sql`create schema work`;
  await database.sql`create table work.jobs (like public.jobs including all)`;
  const there = createQueue(defineJobs({ ping: job() }), {
    tables: queueTables({ schema: pgSchema('work') }),
  });
  await given(database.sql).available();
  const { id } = await there.enqueue(database.db, 'ping');
  expect((await there.list(database.db)).jobs).toMatchObject([{ id, kind: 'ping' }]);
  expect(await there.counts(database.db)).toMatchObject([{ kind: 'ping', due: 1 }]);
});

describe('a page', () => {
  const large = (length: number) => ({ to: Array.from({ length }, (_, n) => Math.sqrt(n)) });

  it('of large jobs ends early, and the next one goes on behind it', async () => {
    // More than 1 MB each, as it lies in the table.
    const payload = large(250_000);
    const ids = await fill(database.sql).available(5, { payload });
    const first = await queue.list(database.db, { order: 'oldest' });
    expect(first.jobs.length).toBeGreaterThanOrEqual(1);
    expect(first.jobs.length).toBeLessThan(5);
    expect(first.next).toBe(first.jobs.at(-1)?.id);
    const found = first.jobs.map(({ id }) => id);
    for (let { next } = first; next !== undefined; ) {
      const page = await queue.list(database.db, { order: 'oldest', after: next });
      found.push(...page.jobs.map(({ id }) => id));
      next = page.next;
    }
    expect(found).toEqual(ids);
    expect(first.jobs[0]?.payload).toEqual(payload);
  });

  it('has one job at least, however large', async () => {
    const ids = await fill(database.sql).available(2, { payload: large(1_000_000) });
    const page = await queue.list(database.db);
    expect(page.jobs.map(({ id }) => id)).toEqual(ids.slice(1));
    expect(page.next).toBe(ids[1]);
    expect(await queue.list(database.db, { limit: 1, after: page.next })).toMatchObject({
      jobs: [{ id: ids[0] }],
      next: undefined,
    });
  });

  it('goes on where the last ended though jobs come and go, that one too', async () => {
    const ids = await fill(database.sql).available(4);
    const { next } = await queue.list(database.db, { limit: 2 });
    await database.sql`delete from jobs where id = ${next ?? 0}`;
    await fill(database.sql).available(2);
    const page = await queue.list(database.db, { limit: 2, after: next });
    expect(page.jobs.map(({ id }) => id)).toEqual([ids[1], ids[0]]);
  });
});

describe('dead letters', () => {
  const groupsOf = async (errors: readonly string[]) => {
    for (const lastError of errors) await given(database.sql).discarded({ kind: 'ping', lastError });
    return (await queue.deadLetters(database.db)).map(({ error, count }) => `${count} × ${error}`);
  };

  it.each<[string, readonly string[], string]>([
    ['numbers of four digits and more', ['order 1234', 'order 98765'], '2 × order #'],
    [
      'UUIDs',
      ['no user 0188a8f5-8f3c-7a3e-9b1c-1234567890ab', 'no user 0188A8F5-8F3C-7A3E-9B1C-ABCDEFABCDEF'],
      '2 × no user #',
    ],
    ['hexadecimal numbers', ['at 0x7ffe', 'at 0X1'], '2 × at #'],
    ['what follows the first line', ['boom\n at a.ts:1', 'boom\n at b.ts:2'], '2 × boom'],
    [
      'what is beyond 300 characters',
      [`${'x'.repeat(300)}a`, `${'x'.repeat(300)}b`],
      `2 × ${'x'.repeat(300)}`,
    ],
  ])('of errors that differ in %s are one group', async (_, errors, group) => {
    expect(await groupsOf(errors)).toEqual([group]);
  });

  it.each<[string, readonly string[]]>([
    ['status', ['answered 503', 'answered 404']],
    ['word', ['no user', 'no order']],
  ])('of errors that differ in a %s are groups of their own', async (_, errors) => {
    expect(await groupsOf(errors)).toHaveLength(2);
  });

  it('name the latest ten', async () => {
    const ids = await fill(database.sql).discarded(25, {
      kind: 'ping',
      lastError: 'boom',
      finishedAgoS: database.sql`100 - i`,
    });
    expect(await queue.deadLetters(database.db)).toMatchObject([
      { count: 25, ids: ids.slice(-10).toReversed() },
    ]);
  });

  it('of a query that failed are told apart by what Postgres said', async () => {
    const failed = 'DrizzleQueryError: Failed query: insert into "orders" …\nparams: 1';
    for (const error of ['PostgresError: duplicate key', 'PostgresError: deadlock detected']) {
      const errors = [{ attempt: 1, at: '2027-01-01T00:00:00.000Z', error }];
      await given(database.sql).discarded({ kind: 'ping', lastError: failed, errors });
    }
    const errors = (await queue.deadLetters(database.db)).map(({ error }) => error);
    expect(errors.sort()).toEqual(['PostgresError: deadlock detected', 'PostgresError: duplicate key']);
  });
});

describe('jobs of other releases', () => {
  const older = createQueue(defineJobs({ mail: job<{ to: string }>(), post: job<{ to: string }>() }));
  const newer = createQueue(
    defineJobs({
      mail: job<{ to: readonly string[] }, number>({ version: 2 })
        .upgradeFrom<{ to: string }>(1, ({ to }) => {
          if (to === 'nobody') throw new Error('no such address');
          return { to: [to] };
        })
        .alias('post')
        .onComplete('keep'),
    }),
  );

  it('are as the registry has them today; one that cannot be upgraded stays as it is, and hides no other', async () => {
    const { db } = database;
    const list = ['a', 'nobody'].map((to) => ({ kind: 'mail' as const, payload: { to } }));
    const [first, bad] = await older.enqueueMany(db, list);
    const { id: renamed } = await older.enqueue(db, 'post', { to: 'b' });
    await newer.enqueue(db, 'mail', { to: ['c'] });
    expect((await newer.list(db, { kind: 'mail', order: 'oldest' })).jobs).toMatchObject([
      { kind: 'mail', payload: { to: ['a'] }, payloadVersion: 2 },
      { kind: 'mail', payload: { to: 'nobody' }, payloadVersion: 1 },
      { kind: 'mail', payload: { to: ['b'] }, payloadVersion: 2 },
      { kind: 'mail', payload: { to: ['c'] }, payloadVersion: 2 },
    ]);
    expect(await newer.get(db, first?.id ?? 0)).toMatchObject({ payload: { to: ['a'] } });
    expect(await newer.get(db, bad?.id ?? 0)).toMatchObject({ payload: { to: 'nobody' } });
    expect(await newer.get(db, renamed)).toMatchObject({ kind: 'mail', payload: { to: ['b'] } });
    expect(await newer.counts(db, { kind: 'mail' })).toMatchObject([
      { kind: 'mail', due: 3 },
      { kind: 'post', due: 1 },
    ]);
    expect(await older.get(db, renamed)).toMatchObject({ kind: 'post', payload: { to: 'b' } });
  });

  it('are waited for by the name that their kind has today', async () => {
    const id = await given(database.sql).completed({ kind: 'post' });
    await database.sql`update jobs set result = '5'`;
    expect(await newer.wait(database.db, 'mail', id)).toBe(5);
  });
});
