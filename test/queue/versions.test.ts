/** Which version rows get, what a person's moves do with aliases, and how a row of another release is read. */
import { asc, eq } from 'drizzle-orm';
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { useDatabase } from '../support/database.js';
import { given, row, verbatim } from '../support/jobs.js';

const database = useDatabase();

interface V1 {
  user: string;
}
interface V2 {
  userId: number;
}
const registry = defineJobs({
  sendMail: job<V2>({ version: 2, dedupeKey: ({ userId }) => (userId < 0 ? undefined : `user ${userId}`) })
    .upgradeFrom<V1>(1, ({ user }) => ({ userId: Number(user) }))
    .alias('mail', 'post'),
  greet: job<{ to: string }>({ version: 7 }),
  ping: job(),
});
const queue = createQueue(registry);
const { jobs } = queue.tables;

afterEach(() => database.sql`truncate jobs`);

describe('a row has the version of its kind', () => {
  const versionOf = async (id: number) => (await row(database.sql, id))?.payloadVersion;

  it('by an enqueue, with and without a dedupe key', async () => {
    const { db } = database;
    const enqueued = [
      await queue.enqueue(db, 'sendMail', { userId: -1 }),
      await queue.enqueue(db, 'sendMail', { userId: 1 }),
      await queue.enqueue(db, 'greet', { to: 'you' }),
      await queue.enqueue(db, 'ping'),
    ];
    expect(await Promise.all(enqueued.map(({ id }) => versionOf(id)))).toEqual([2, 2, 7, 1]);
  });

  it('by a list of several kinds', async () => {
    const enqueued = await queue.enqueueMany(database.db, [
      { kind: 'ping' },
      { kind: 'sendMail', payload: { userId: -1 } },
      { kind: 'sendMail', payload: { userId: 5 } },
      { kind: 'greet', payload: { to: 'you' } },
      { kind: 'sendMail', payload: { userId: 6 }, onDuplicate: 'replace' },
    ]);
    expect(await Promise.all(enqueued.map(({ id }) => versionOf(id)))).toEqual([1, 2, 2, 7, 2]);
  });

  it.each(['replace', 'debounce'] as const)(
    'by one that takes an older row’s place: %s',
    async (onDuplicate) => {
      const old = { kind: 'sendMail', payload: { user: '1' }, dedupeKey: 'user 1' };
      const id = await given(database.sql).available(old);
      const answer = await queue.enqueue(database.db, 'sendMail', { userId: 1 }, { onDuplicate });
      expect(answer).toEqual({ id, duplicate: true });
      expect(await row(database.sql, id)).toMatchObject({ payload: { userId: 1 }, payloadVersion: 2 });
    },
  );

  it('and keeps it where an enqueue is skipped', async () => {
    const old = { kind: 'sendMail', payload: { user: '1' }, dedupeKey: 'user 1' };
    const id = await given(database.sql).available(old);
    const before = await verbatim(database.sql, id);
    await queue.enqueue(database.db, 'sendMail', { userId: 1 });
    expect(await verbatim(database.sql, id)).toBe(before);
  });

  it('by an update of a person, also of a row that has an alias', async () => {
    const { available } = given(database.sql);
    const ids = [
      await available({ kind: 'sendMail', payload: { user: '1' } }),
      await available({ kind: 'post', payload: { user: '2' } }),
      await available({ kind: 'sendMail', payload: { of: 'a newer release' }, payloadVersion: 3 }),
    ];
    for (const id of ids) {
      const answer = await queue.update(database.db, 'sendMail', id, { userId: 9 });
      expect(answer).toEqual({ id, result: 'done', state: 'available' });
    }
    const rows = await Promise.all(ids.map((id) => row(database.sql, id)));
    expect(rows.map((one) => one && [one.kind, one.payload, one.payloadVersion])).toEqual([
      ['sendMail', { userId: 9 }, 2],
      ['post', { userId: 9 }, 2],
      ['sendMail', { userId: 9 }, 2],
    ]);
    const other = await available({ kind: 'posts' });
    expect(await queue.update(database.db, 'sendMail', other, { userId: 9 })).toMatchObject({
      result: 'refused',
    });
  });
});

it('a dedupe key under an alias is another one', async () => {
  const id = await given(database.sql).available({ kind: 'mail', dedupeKey: 'user 1' });
  const answer = await queue.enqueue(database.db, 'sendMail', { userId: 1 });
  expect(answer).toEqual({ id: expect.any(Number), duplicate: false });
  expect(answer.id).not.toBe(id);
});

it('a replay of a kind takes its aliases along, and one of an alias that alone', async () => {
  const { discarded } = given(database.sql);
  const [now, mail, post] = [
    await discarded({ kind: 'sendMail', finishedAgoS: 30 }),
    await discarded({ kind: 'mail', finishedAgoS: 20 }),
    await discarded({ kind: 'post', finishedAgoS: 10 }),
  ];
  const other = await discarded({ kind: 'posts' });
  const replay = async (kind: string) => {
    const answers: { id: number }[] = await Reflect.apply(queue.replay, undefined, [database.db, { kind }]);
    return answers.map(({ id }) => id);
  };
  const preview = await queue.replay(database.db, { kind: 'sendMail' }, { preview: true });
  expect(preview.map(({ id }) => id)).toEqual([now, mail, post]);
  expect(await replay('post')).toEqual([post]);
  expect(await replay('sendMail')).toEqual([now, mail]);
  expect(await replay('posts')).toEqual([other]); // of a kind that was dropped
});

describe('read', () => {
  it('gives rows of every release as the registry has them, and leaves them as they are', async () => {
    const { available } = given(database.sql);
    await available({ kind: 'mail', payload: { user: '1' } });
    await available({ kind: 'sendMail', payload: { userId: 2 }, payloadVersion: 2 });
    await available({ kind: 'ping' });
    const rows = await database.db.select().from(jobs).orderBy(asc(jobs.id));
    const before = structuredClone(rows);

    const read = rows.map((one) => queue.read(one));
    expect(read.map(({ kind, payload, payloadVersion }) => ({ kind, payload, payloadVersion }))).toEqual([
      { kind: 'sendMail', payload: { userId: 1 }, payloadVersion: 2 },
      { kind: 'sendMail', payload: { userId: 2 }, payloadVersion: 2 },
      { kind: 'ping', payload: {}, payloadVersion: 1 },
    ]);
    expect(read.map(({ id, runAt, state }) => ({ id, runAt, state }))).toEqual(
      rows.map(({ id, runAt, state }) => ({ id, runAt, state })),
    );
    expect(rows).toEqual(before);
    expect(read.map((one) => queue.read(one))).toEqual(read); // once more changes nothing
    expect(rows.map((one) => queue.isKind(one, 'sendMail'))).toEqual([false, true, false]);
    expect(read.map((one) => queue.isKind(one, 'sendMail'))).toEqual([true, true, false]);
  });

  it('takes a selection, and works when taken off its object', async () => {
    await given(database.sql).available({ kind: 'post', payload: { user: '1' } });
    const { read } = queue;
    const [found] = await database.db
      .select({ job: jobs.id, kind: jobs.kind, payload: jobs.payload, payloadVersion: jobs.payloadVersion })
      .from(jobs)
      .where(eq(jobs.kind, 'post'));
    expect(found && read(found)).toEqual({
      job: expect.any(Number),
      kind: 'sendMail',
      payload: { userId: 1 },
      payloadVersion: 2,
    });
  });

  it.each([
    [{ kind: 'other', payload: {}, payloadVersion: 1 }, 'UNKNOWN_KIND'],
    [{ kind: 'constructor', payload: {}, payloadVersion: 1 }, 'UNKNOWN_KIND'],
    [{ kind: 'sendMail', payload: {}, payloadVersion: 3 }, 'PAYLOAD_NOT_UPGRADED'],
    [{ kind: 'mail', payload: null, payloadVersion: 1 }, 'PAYLOAD_NOT_UPGRADED'],
    [{ kind: 'greet', payload: {}, payloadVersion: 6 }, 'PAYLOAD_NOT_UPGRADED'],
    [{ kind: 'ping', payload: {} }, 'INVALID_OPTION'],
    [{ kind: 'ping', payloadVersion: 1 }, 'INVALID_OPTION'],
    [{ kind: 'ping', payload: {}, payloadVersion: '1' }, 'INVALID_OPTION'],
    [{ kind: null, payload: null, payloadVersion: null }, 'INVALID_OPTION'],
    [undefined, 'INVALID_OPTION'],
    [null, 'INVALID_OPTION'],
    [5, 'INVALID_OPTION'],
  ])('refuses %j with %s', (given, code) => {
    expect(() => Reflect.apply(queue.read, undefined, [given])).toThrow(expect.objectContaining({ code }));
  });
});
