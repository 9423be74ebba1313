/** What pausing, resuming and asking answer and write down, and what is refused. */
import { sql } from 'drizzle-orm';
import { pgSchema } from 'drizzle-orm/pg-core';
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { jobs, queueTables } from '../../src/schema.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { waitingForLock } from '../support/waiting.js';
import { createGate } from '../worker/gate.js';
import { logged } from './stage.js';

const database = useDatabase();
const registry = defineJobs({
  sendReceipt: job<{ n: number }>().queue('mail').alias('send_receipt').alias('receipt'),
  ping: job(),
});
const queue = createQueue(registry);
const mail = { queue: 'mail' } as const;
const receipt = { kind: 'sendReceipt' } as const;
const done = { result: 'done' };
const unchanged = { result: 'unchanged' };

afterEach(async () => {
  await database.sql`truncate job_limits`;
});

const stored = async () =>
  (
    await database.sql<{ name: string }[]>`select scope || ' ' || name as name from job_limits order by 1`
  ).map(({ name }) => name);
/** As plain JavaScript may call it, with anything. */
const call = (name: 'pause' | 'resume' | 'paused', ...given: readonly unknown[]): Promise<unknown> =>
  Reflect.apply(queue[name], undefined, given);

it('says whether anything changed, and what is paused since when', async () => {
  expect(await queue.paused(database.db)).toEqual([]);
  expect(await queue.pause(database.db, mail)).toEqual(done);
  expect(await queue.pause(database.db, mail)).toEqual(unchanged);
  expect(await queue.pause(database.db, receipt)).toEqual(done);
  expect(await queue.pause(database.db, receipt)).toEqual(unchanged);
  const paused = await queue.paused(database.db);
  expect(paused).toEqual([
    { queue: 'mail', pausedAt: expect.any(Date) },
    { kind: 'sendReceipt', pausedAt: expect.any(Date) },
  ]);
  for (const { pausedAt } of paused) expect(Math.abs(pausedAt.getTime() - Date.now())).toBeLessThan(10_000);
  expect(await queue.resume(database.db, mail)).toEqual(done);
  expect(await queue.resume(database.db, mail)).toEqual(unchanged);
  expect(await queue.paused(database.db)).toMatchObject([receipt]);
});

it('writes every name of a kind, so that workers of every release know it, and takes all of them back', async () => {
  await queue.pause(database.db, receipt);
  expect(await stored()).toEqual(['kind receipt', 'kind sendReceipt', 'kind send_receipt']);
  expect(await queue.resume(database.db, receipt)).toEqual(done);
  expect(await stored()).toEqual([]);
  await queue.pause(database.db, receipt);
  expect(await call('resume', database.db, { kind: 'receipt' })).toEqual(done);
  expect(await stored()).toEqual([]);
  await database.sql`insert into job_limits (scope, name) values ('kind', 'send_receipt')`;
  expect(await queue.paused(database.db)).toMatchObject([receipt]);
  expect(await queue.pause(database.db, receipt)).toEqual(done); // its other names
  expect(await queue.paused(database.db)).toHaveLength(1);
});

it('resumes all that it names, also what the registry does not have any more', async () => {
  await queue.pause(database.db, mail);
  await queue.pause(database.db, { kind: 'ping' });
  await database.sql`insert into job_limits (scope, name) values ('queue', 'dropped'), ('kind', 'dropped')`;
  const paused = await queue.paused(database.db);
  expect(paused).toMatchObject([mail, { kind: 'ping' }, { queue: 'dropped' }, { kind: 'dropped' }]);
  for (const each of paused) expect(await queue.resume(database.db, each)).toEqual(done);
  expect(await stored()).toEqual([]);
});

it('tells workers once for a transaction, and only where anything changed', async () => {
  const heard: string[] = [];
  const [found] = await database.sql<{ channel: string }[]>`
    select 'drizzle_queue_' || left(encode(sha256('public.jobs'), 'hex'), 16) as channel`;
  const { unlisten } = await database.sql.listen(found?.channel ?? '', (text) => void heard.push(text));
  await queue.resume(database.db, mail);
  await database.db.transaction(async (tx) => {
    await queue.pause(tx, mail);
    await queue.pause(tx, receipt);
    await queue.resume(tx, receipt);
  });
  await queue.pause(database.db, mail);
  await database.sql.notify(found?.channel ?? '', 'the end');
  await until(() => heard.includes('the end'), { what: 'all that was told' });
  expect(heard).toEqual(['pauses', 'the end']);
  await unlisten();
});

it('infinite times, which plain SQL may have put there, are read as far ones', async () => {
  await database.sql`
    insert into job_limits (scope, name, paused_at) values ('queue', 'mail', 'infinity'), ('kind', 'ping', '-infinity')`;
  expect((await queue.paused(database.db)).map(({ pausedAt }) => pausedAt.getUTCFullYear())).toEqual([
    9999, 1970,
  ]);
});

it('who pauses what another open transaction pauses waits for its end', async () => {
  const [held, go] = [createGate(), createGate()];
  const first = database.db.transaction(async (tx) => {
    await queue.pause(tx, mail);
    held.open();
    await go.passed;
  });
  await held.passed;
  expect(await queue.resume(database.db, mail)).toEqual(unchanged); // it is not paused yet
  const second = queue.pause(database.db, mail);
  await until(async () => (await waitingForLock(database.sql, '%job_limits%')).length, {
    what: 'the second to wait',
  });
  go.open();
  await first;
  expect(await second).toEqual(unchanged);
});

describe('is refused before any SQL', () => {
  it.each([
    ['a queue of no kind', { queue: 'mails' }, 'UNKNOWN_QUEUE', 'Did you mean "mail"?'],
    ['a kind that is none', { kind: 'sendReciept' }, 'UNKNOWN_KIND', 'Did you mean "sendReceipt"?'],
    ['an alias', { kind: 'receipt' }, 'UNKNOWN_KIND', 'It is an alias of "sendReceipt"'],
    ['both', { ...mail, ...receipt }, 'INVALID_OPTION', '{ queue } or { kind }'],
    ['neither', {}, 'INVALID_OPTION', '{ queue } or { kind }'],
    ['a name alone', 'mail', 'INVALID_OPTION', 'an object'],
    ['another option', { ...mail, until: 1 }, 'INVALID_OPTION', 'Unknown option "until"'],
    ['no text', { queue: 5 }, 'INVALID_OPTION', 'a text of 1 to 128 characters'],
    ['an empty text', { kind: '' }, 'INVALID_OPTION', 'a text of 1 to 128 characters'],
  ])('%s', async (_what, what, code, message) => {
    const { db, statements } = logged(database.sql);
    await expect(call('pause', db, what)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
    expect(statements).toEqual([]);
  });

  it('what is neither a database nor a transaction; and a database under requireTransaction', async () => {
    for (const name of ['pause', 'resume', 'paused'] as const)
      await expect(call(name, {}, mail)).rejects.toMatchObject({ code: 'INVALID_EXECUTOR' });
    const strict = createQueue(registry, { requireTransaction: true });
    for (const move of [strict.pause, strict.resume])
      await expect(Reflect.apply(move, undefined, [database.db, mail])).rejects.toMatchObject({
        code: 'TRANSACTION_REQUIRED',
      });
    await database.db.transaction((tx) => strict.pause(tx, mail));
    expect(await strict.paused(database.db)).toMatchObject([mail]);
  });

  it('without the table among the tables of the queue', async () => {
    const { db, statements } = logged(database.sql);
    const without = createQueue(registry, { tables: { jobs } });
    const expected = {
      code: 'TABLE_MISMATCH',
      data: { table: 'job_limits' },
      message: expect.stringMatching(
        /^`queue.pause` needs the table `job_limits`, which the `tables` of createQueue\(…\) lack\. Export `jobLimits` of queueTables/,
      ),
    };
    await expect(without.pause(db, mail)).rejects.toMatchObject(expected);
    await expect(without.resume(db, mail)).rejects.toMatchObject(expected);
    await expect(without.paused(db)).rejects.toMatchObject(expected);
    expect(statements).toEqual([]);
  });
});

it('says what to do where the database has no such table', async () => {
  await database.sql`alter table job_limits rename to elsewhere`;
  try {
    const calls = [
      () => queue.pause(database.db, mail),
      () => queue.resume(database.db, mail),
      () => queue.paused(database.db),
    ];
    for (const work of calls)
      await expect(work()).rejects.toMatchObject({
        code: 'TABLE_MISMATCH',
        data: { table: 'job_limits' },
        message: expect.stringMatching(/job_limits.* does not exist.*then run: npx drizzle-kit generate/),
      });
  } finally {
    await database.sql`alter table elsewhere rename to job_limits`;
  }
});

it('in a schema of its own, the pauses of one table of jobs are not those of another', async () => {
  await database.sql`create schema work`;
  await database.sql`create table work.jobs (like public.jobs including all)`;
  await database.sql`create table work.job_limits (like public.job_limits including all)`;
  const { jobs, jobLimits } = queueTables({ schema: pgSchema('work') });
  const there = createQueue(registry, { tables: { jobs, jobLimits } });
  await there.pause(database.db, mail);
  expect(await there.paused(database.db)).toMatchObject([mail]);
  expect(await queue.paused(database.db)).toEqual([]);
  const rows = await database.db.select().from(jobLimits);
  expect(rows).toMatchObject([{ scope: 'queue', name: 'mail', pausedAt: expect.any(Date) }]);
  await database.sql`drop schema work cascade`;
});

it.each([
  "it's",
  '"quoted"',
  'back\\slash',
  'a,b',
  '{a}',
  'NULL',
  ' ',
  'tab\tand\nnewline',
  '😀 ünïcödé',
  '__proto__',
  'x'.repeat(128),
])('a queue and a kind called %j', async (name) => {
  const odd = createQueue(defineJobs(Object.fromEntries([[name, job().queue(name)]])));
  await odd.pause(database.db, { queue: name });
  await odd.pause(database.db, { kind: name });
  expect(await odd.paused(database.db)).toMatchObject([{ queue: name }, { kind: name }]);
  for (const each of await odd.paused(database.db)) expect(await odd.resume(database.db, each)).toEqual(done);
  expect(await odd.paused(database.db)).toEqual([]);
});

it('a name that is none is refused by the table', async () => {
  for (const row of [sql`('team', 'mail')`, sql`('queue', '')`])
    await expect(
      database.db.execute(sql`insert into job_limits (scope, name) values ${row}`),
    ).rejects.toMatchObject({
      cause: { code: '23514' },
    });
});
