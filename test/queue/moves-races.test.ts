/** A person's moves against others that touch the same rows at the same moment. */
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, type JsonValue, job } from '../../src/index.js';
import { claim } from '../../src/sql/claim.js';
import { useDatabase } from '../support/database.js';
import { fill, given, row, table, whileHeld } from '../support/jobs.js';
import { until } from '../support/until.js';
import { waitingForLock } from '../support/waiting.js';

const database = useDatabase();
const queue = createQueue(defineJobs({ greet: job<JsonValue>() }));
afterEach(async () => {
  await database.sql`truncate jobs`;
});

describe('a replay while an enqueue of the same key is open', () => {
  it.each([
    ['in a transaction', 'commit', 'duplicate'],
    ['in a transaction', 'rollback', 'done'],
    ['by itself', 'commit', 'duplicate'],
    ['by itself', 'rollback', 'done'],
  ] as const)('%s, which then makes a %s: %s', async (where, end, result) => {
    const { sql, db } = database;
    const [a, b, c] = [
      await given(sql).discarded({ dedupeKey: 'a' }),
      await given(sql).discarded({ dedupeKey: 'b' }),
      await given(sql).discarded({ dedupeKey: 'c' }),
    ];
    const racer = await sql.reserve();
    try {
      await racer`begin`;
      await racer`insert into jobs (kind, dedupe_key) values ('greet', 'b')`;
      const replaying =
        where === 'by itself'
          ? queue.replay(db, [a, b, c])
          : db.transaction(async (tx) => {
              const { id } = await queue.enqueue(tx, 'greet', 'before');
              return [...(await queue.replay(tx, [a, b, c])), await queue.replay(tx, id)];
            });
      await until(async () => (await waitingForLock(sql, '%ready as materialized%')).length, {
        what: 'the replay to meet the open key',
      });
      await racer.unsafe(end);
      const answers = await replaying;
      expect(answers.slice(0, 3).map((answer) => answer.result)).toEqual(['done', result, 'done']);
      expect((await row(sql, b))?.state).toBe(result === 'done' ? 'available' : 'discarded');
    } finally {
      racer.release();
    }
  });
});

it('no move waits for a row that somebody holds, and the rows beside it are moved', async () => {
  const { sql, db } = database;
  const [held = 0, free = 0] = await fill(sql).available(2);
  const [heldOver = 0, freeOver = 0] = await fill(sql).discarded(2);
  await whileHeld(sql, [held, heldOver], async () => {
    expect(await queue.replay(db, [heldOver, freeOver])).toMatchObject([
      { result: 'busy' },
      { result: 'done' },
    ]);
    expect(await queue.replay(db, {})).toEqual([{ id: heldOver, result: 'busy', state: 'discarded' }]);
    expect(await queue.update(db, 'greet', held, 1)).toEqual({
      id: held,
      result: 'busy',
      state: 'available',
    });
    expect(await queue.runNow(db, held)).toMatchObject({ result: 'busy' });
    expect(await queue.cancel(db, [held, free])).toMatchObject([{ result: 'busy' }, { result: 'done' }]);
    expect(await queue.remove(db, [held, free])).toMatchObject([{ result: 'busy' }, { result: 'done' }]);
  });
});

it('no claim brings another payload than its row has', async () => {
  const { sql, db } = database;
  const results = new Map<string, number>();
  for (let n = 0; n < 100; n++) {
    const id = await given(sql).available({ payload: 'old' });
    const request = { want: new Map([['default', 10]]), kinds: ['greet'], lockedBy: `worker/${n}` };
    const both = [() => queue.update(db, 'greet', id, 'new'), () => claim(db, table, request)] as const;
    const [updated, claimed] =
      n % 2 === 0
        ? await Promise.all([both[0](), both[1]()])
        : await Promise.all([both[1](), both[0]()]).then(([c, u]) => [u, c] as const);
    results.set(updated.result, (results.get(updated.result) ?? 0) + 1);
    const now = await row(sql, id);
    expect(now?.payload).toBe(updated.result === 'done' ? 'new' : 'old');
    for (const each of claimed.jobs) expect(each.payload).toBe(now?.payload);
    await sql`truncate jobs`;
  }
  expect(results.get('done')).toBeGreaterThan(0);
  expect((results.get('refused') ?? 0) + (results.get('busy') ?? 0)).toBeGreaterThan(0);
});

it('a cancel that counts is never undone by a claim, and one that does not says so', async () => {
  const { sql, db } = database;
  for (let n = 0; n < 100; n++) {
    const id = await given(sql).available();
    const request = { want: new Map([['default', 10]]), kinds: ['greet'], lockedBy: `worker/${n}` };
    const [claimed, cancelled] = await Promise.all([claim(db, table, request), queue.cancel(db, id)]);
    const state = (await row(sql, id))?.state;
    if (cancelled.result === 'done') expect(state).toBe('cancelled');
    else {
      expect(cancelled.result).toBe('busy');
      expect([state, claimed.jobs.length]).toEqual(['running', 1]);
    }
    await sql`truncate jobs`;
  }
});
