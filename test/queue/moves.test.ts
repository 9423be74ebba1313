/** What a person's moves refuse before any SQL, what a list costs, and what they tell the workers. */
import { describe, expect, it } from 'vitest';
import { channelOf } from '../../src/database/table-name.js';
import { createQueue, defineJobs, job, QueueError } from '../../src/index.js';
import { jobs } from '../../src/schema.js';
import { noticeOf } from '../../src/words/notice.js';
import { useDatabase } from '../support/database.js';
import { fill, given, row, whileHeld } from '../support/jobs.js';
import { until } from '../support/until.js';
import { logged, queue } from './stage.js';

const database = useDatabase();

const noIds = [
  0,
  -1,
  1.5,
  2 ** 53,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '1',
  1n,
  null,
  undefined,
  new Date(),
];
const moves = {
  cancel: (id: unknown) => [id],
  replay: (id: unknown) => [id],
  reschedule: (id: unknown) => [id, { delayMs: 0 }],
  runNow: (id: unknown) => [id],
  update: (id: unknown) => ['keep', id, null],
  remove: (id: unknown) => [id],
} as const;
const names = Object.keys(moves) as (keyof typeof moves)[];

interface Wrong {
  readonly move: keyof typeof moves;
  readonly given: readonly unknown[];
  readonly error?: { readonly code?: string; readonly data?: object; readonly message?: RegExp };
}
const wrong: readonly Wrong[] = [
  ...names.flatMap((move) => noIds.map((id) => ({ move, given: moves[move](id) }))),
  ...(['cancel', 'replay', 'remove'] as const).flatMap((move) =>
    noIds.map((id) => ({ move, given: [[1, id]], error: { data: { option: 'ids[1]' } } })),
  ),
  { move: 'cancel', given: [{}] },
  { move: 'cancel', given: [new Array(2)], error: { data: { option: 'ids[0]' } } },
  ...[new Set([1]), new Map(), Object.create({ kind: 'keep' })].map(
    (none): Wrong => ({ move: 'replay', given: [none] }),
  ),
  { move: 'replay', given: [{ kinds: 'keep' }], error: { message: /Did you mean "kind"/ } },
  ...['running', 'available', '', 1, null, ['discarded']].map(
    (state): Wrong => ({ move: 'replay', given: [{ state }], error: { data: { option: 'state' } } }),
  ),
  { move: 'replay', given: [{ kind: '' }], error: { data: { option: 'kind' } } },
  { move: 'replay', given: [{ queue: '\0' }], error: { data: { option: 'queue' } } },
  { move: 'replay', given: [{ finishedBefore: 'yesterday' }], error: { data: { option: 'finishedBefore' } } },
  { move: 'replay', given: [{ finishedAfter: Date.now() }], error: { data: { option: 'finishedAfter' } } },
  ...['', '\0', '\ud83d', 5, /luck/].map(
    (errorMatches): Wrong => ({
      move: 'replay',
      given: [{ errorMatches }],
      error: { data: { option: 'errorMatches' } },
    }),
  ),
  ...[0, -1, 1.5, 100_001, '5', Number.NaN].map(
    (limit): Wrong => ({ move: 'replay', given: [{ limit }], error: { data: { option: 'limit' } } }),
  ),
  { move: 'replay', given: [1, { dryRun: true }], error: { data: { option: 'dryRun' } } },
  { move: 'replay', given: [1, { preview: 'yes' }], error: { data: { option: 'preview' } } },
  { move: 'replay', given: [1, null] },
  ...[
    undefined,
    null,
    5,
    {},
    { delay: 1 },
    { delayMs: -1 },
    { runAt: 'tomorrow' },
    { delayMs: 1, runAt: new Date() },
  ].map((time): Wrong => ({ move: 'reschedule', given: [1, time] })),
  { move: 'update', given: ['sendReciept', 1, {}], error: { code: 'UNKNOWN_KIND' } },
  {
    move: 'update',
    given: ['keep', 1, { a: 1n }],
    error: { code: 'INVALID_PAYLOAD', data: { path: ['a'] } },
  },
  { move: 'update', given: ['keep', 1, 'x'.repeat(1_048_575)], error: { code: 'INVALID_PAYLOAD' } },
];

it.each(wrong)('$move refuses $given by a rejection, before any SQL', async ({ move, given, error = {} }) => {
  const { db, statements } = logged(database.db.$client);
  // Not awaited at once: a throw in place of a rejection would fail here.
  const refused: Promise<unknown> = Reflect.apply(queue[move], undefined, [db, ...given]);
  const reason = await refused.catch((reason: unknown) => reason);
  expect(reason).toBeInstanceOf(QueueError);
  const { message, ...rest } = error;
  expect(reason).toMatchObject({ code: 'INVALID_OPTION', ...rest });
  if (message) expect(String(reason)).toMatch(message);
  expect(statements).toEqual([]);
});

it.each(names)('%s refuses what is no database, by a rejection', async (move) => {
  const refused: Promise<unknown> = Reflect.apply(queue[move], undefined, [database.sql, ...moves[move](1)]);
  await expect(refused).rejects.toMatchObject({ code: 'INVALID_EXECUTOR' });
});

describe('a list', () => {
  it('without ids sends nothing', async () => {
    const { db, statements } = logged(database.db.$client);
    expect([await queue.cancel(db, []), await queue.replay(db, []), await queue.remove(db, [])]).toEqual([
      [],
      [],
      [],
    ]);
    expect(statements).toEqual([]);
  });

  it('of a thousand is one statement, and those that somebody holds are asked for once more', async () => {
    const ids = await fill(database.sql).available(1_000);
    const { db, statements } = logged(database.db.$client);
    await whileHeld(database.sql, ids.slice(0, 1), async () => {
      const answers = await queue.cancel(db, ids);
      expect(answers[0]).toEqual({ id: ids[0], result: 'busy', state: 'available' });
    });
    expect(statements).toHaveLength(2);
    await queue.remove(db, ids);
    expect(statements).toHaveLength(3);
  });
});

it('a replay of two jobs of one key is one statement, which takes the first', async () => {
  const ids = await fill(database.sql).discarded(2, { dedupeKey: 'one of two' });
  const { db, statements } = logged(database.db.$client);
  const results = (await queue.replay(db, ids.toReversed())).map(({ result }) => result);
  expect(results).toEqual(['duplicate', 'done']);
  expect(statements).toHaveLength(1);
});

it('an update leaves all but the payload as it was', async () => {
  const id = await given(database.sql).available({
    kind: 'keep',
    attempts: 2,
    lastError: 'no luck',
    dedupeKey: 'k',
  });
  const before = await row(database.sql, id);
  await queue.update(database.db, 'keep', id, [1]);
  expect(await row(database.sql, id)).toEqual({ ...before, payload: [1] });
});

it('an update of a kind that has no payload any more takes what an older release has given it', async () => {
  const sweeping = createQueue(defineJobs({ sweep: job({ version: 2 }).upgradeFrom(1, () => undefined) }));
  const id = await given(database.sql).available({ kind: 'sweep', payload: { days: 7 } });
  expect(await sweeping.update(database.db, 'sweep', id)).toEqual({ id, result: 'done', state: 'available' });
  expect(await row(database.sql, id)).toMatchObject({ payload: {}, payloadVersion: 2 });
});

describe('what is told', () => {
  /** What workers hear of this, with the texts as they came. */
  async function heard(move: () => Promise<unknown>) {
    const channel = channelOf(jobs);
    const texts: string[] = [];
    const { unlisten } = await database.sql.listen(channel, (text) => void texts.push(text));
    await move();
    await database.sql`select pg_notify(${channel}, 'the end')`;
    await until(() => texts.includes('the end'), { what: 'all notices' });
    await unlisten();
    return texts.filter((text) => text !== 'the end');
  }

  it.each(['cancel', 'remove'] as const)(
    'of a %s: those that ran, in lines that Postgres takes',
    async (move) => {
      await database.sql`truncate jobs`;
      const largest = Number.MAX_SAFE_INTEGER - 2_000;
      await database.sql`select setval(pg_get_serial_sequence('jobs', 'id'), ${largest}::bigint)`;
      const running = await fill(database.sql).running(1_000);
      const waiting = await fill(database.sql).available(10);
      await database.sql`select setval(pg_get_serial_sequence('jobs', 'id'), 1)`;
      const texts = await heard(() => queue[move](database.db, [...waiting, ...running]));
      const told = texts.map(noticeOf).flatMap((notice) => (notice?.type === 'changed' ? notice.ids : [0]));
      expect(told.toSorted()).toEqual(running.toSorted());
      expect(Math.max(...texts.map((text) => text.length))).toBeLessThan(7_900);
    },
  );

  it('of jobs that nobody runs: nothing', async () => {
    const ids = await fill(database.sql).available(3);
    expect(await heard(() => queue.cancel(database.db, ids))).toEqual([]);
    expect(await heard(() => queue.remove(database.db, ids))).toEqual([]);
    expect(await heard(() => queue.runNow(database.db, ids[0] ?? 0))).toEqual([]);
  });

  it('of jobs that are due, by queue, and of one that will be', async () => {
    const one = await fill(database.sql).discarded(2, { queue: 'one' });
    const two = await fill(database.sql).discarded(1, { queue: 'two words' });
    const texts = await heard(() => queue.replay(database.db, [...one, ...two]));
    const seed = expect.any(Number);
    expect(texts).toHaveLength(2);
    expect(texts.map(noticeOf)).toEqual(
      expect.arrayContaining([
        { type: 'work', queue: 'two words', jobs: 1, seed },
        { type: 'work', queue: 'one', jobs: 2, seed },
      ]),
    );

    const [id = 0] = one;
    const later = await heard(() => queue.reschedule(database.db, id, { delayMs: 60_000 }));
    expect(later.map(noticeOf)).toEqual([{ type: 'later', queue: 'one', seed }]);
    const now = await heard(() => queue.runNow(database.db, id));
    expect(now.map(noticeOf)).toEqual([{ type: 'work', queue: 'one', jobs: 1, seed }]);
    expect(await heard(() => queue.replay(database.db, [id], { preview: true }))).toEqual([]);
  });

  it('of what was rolled back: nothing', async () => {
    const id = await given(database.sql).running();
    const undone = () =>
      database.db
        .transaction(async (tx) => {
          await queue.cancel(tx, id);
          tx.rollback();
        })
        .catch(() => {});
    expect(await heard(undone)).toEqual([]);
  });
});
