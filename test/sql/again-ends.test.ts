/** Every end of a run that was asked to run once more: one more run comes of it, with what was asked for, and never two. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { claim } from '../../src/sql/claim.js';
import { completeAgainIn, completeIn } from '../../src/sql/complete.js';
import { completeMany } from '../../src/sql/complete-many.js';
import { releaseClaims } from '../../src/sql/release-claims.js';
import { rescue } from '../../src/sql/rescue.js';
import type { Outcome } from '../../src/words/outcome.js';
import { useDatabase } from '../support/database.js';
import { finish } from '../support/finish.js';
import {
  fill,
  given,
  type RunningColumns,
  row,
  table,
  untilServerHasRunFor,
  verbatim,
  whileHeld,
} from '../support/jobs.js';

const database = useDatabase();
const queue = createQueue(
  defineJobs({
    greet: job<{ n: number }>({ dedupeKey: () => 'k', onDuplicate: 'again', rescueAfterMs: 1_000 }),
  }),
);
const lockedBy = 'worker/1';

beforeAll(() => untilServerHasRunFor(database.sql, 1.5));
beforeEach(() => database.sql`truncate jobs`);

/** A job that runs, was enqueued an hour ago, and is to run once more with `{ n: 2 }`. */
async function asked(columns: RunningColumns = {}): Promise<number> {
  const errors = [{ attempt: 1, at: '2026-01-01T00:00:00.000Z', error: 'no luck' }];
  const id = await given(database.sql).running({
    ...{ dedupeKey: 'k', payload: { n: 1 }, lockedBy, lastError: 'no luck', errors },
    ...columns,
  });
  await database.sql`update jobs set created_at = created_at - interval '1 hour' where id = ${id}`;
  expect(await queue.enqueue(database.db, 'greet', { n: 2 })).toEqual({ id, duplicate: true });
  return id;
}
const end = (outcome: Outcome) => async (id: number) =>
  (await finish(database.db, table, [{ id, lockedBy, outcome }]))[0];
const fail = end({ move: 'fail', error: 'worse', delayMs: 50_000 });
const dead = { timeoutS: 1, heartbeatAgoS: 3_600 };
const spent = { attempts: 10 };

/** Claims what is due and completes it; its payloads. */
async function runAll(): Promise<unknown[]> {
  const request = { want: new Map([['default', 5]]), kinds: ['greet'], lockedBy: 'worker/2' };
  const { jobs } = await claim(database.db, table, request);
  await finish(
    database.db,
    table,
    jobs.map(({ id }) => ({ id, lockedBy: 'worker/2', outcome: { move: 'complete' } })),
  );
  return jobs.map(({ payload, attempt }) => ({ payload, attempt }));
}

const lasts: [name: string, RunningColumns, make: (id: number) => Promise<unknown>, errors: number][] = [
  ['completes', {}, end({ move: 'complete' }), 0],
  [
    'completes in its own transaction',
    {},
    (id) => database.db.transaction((tx) => completeAgainIn(tx, table, { id, lockedBy })),
    0,
  ],
  ['is discarded', {}, end({ move: 'discard', error: 'pointless' }), 2],
  ['fails for the last time', spent, fail, 2],
  ['is released once too often', { attempts: 11 }, end({ move: 'release', started: true }), 2],
  ['is rescued after its last attempt', { ...dead, ...spent }, () => rescue(database.db, table), 2],
];

describe('a run that would be the last one', () => {
  it.each(lasts)('and %s: the job is due from its first attempt', async (_, columns, make, errors) => {
    const id = await asked(columns);
    await make(id);
    const after = await row(database.sql, id);
    expect(after).toMatchObject({
      ...{ state: 'available', attempts: 0, payload: { n: 2 }, again: null, dedupeKey: 'k' },
      ...{ lockedBy: null, heartbeatAt: null, startedAt: null, finishedAt: null },
    });
    // Of a discarded one the errors stay, as for a replay.
    expect(after?.errors).toHaveLength(errors);
    expect(after?.lastError === null).toBe(errors === 0);
    const [times] = await database.sql`
      select run_at between clock_timestamp() - interval '5 s' and clock_timestamp() as due,
             created_at > clock_timestamp() - interval '5 s' as new
      from jobs where id = ${id}`;
    expect(times).toEqual({ due: true, new: true });
    expect(await runAll()).toEqual([{ payload: { n: 2 }, attempt: 1 }]);
    expect(await row(database.sql, id)).toBeUndefined();
  });
});

const others: [
  name: string,
  RunningColumns,
  make: (id: number) => Promise<unknown>,
  attempts: number,
  dueInS: number,
][] = [
  ['fails', { attempts: 3 }, fail, 3, 50],
  ['snoozes', { attempts: 3 }, end({ move: 'snooze', when: { delayMs: 40_000 } }), 2, 40],
  ['is released before it starts', { attempts: 3 }, end({ move: 'release', started: false }), 2, 0],
  ['is released while it runs', { attempts: 3 }, end({ move: 'release', started: true }), 3, 0],
  ['had its claim released', { attempts: 3 }, () => releaseClaims(database.db, table, [lockedBy]), 2, 0],
  ['is rescued', { ...dead, attempts: 3 }, () => rescue(database.db, table), 3, 6],
];

describe('a run after which another comes anyway', () => {
  it.each(others)('and %s: that one is it', async (_, columns, make, attempts, dueInS) => {
    const id = await asked(columns);
    const created = (await row(database.sql, id))?.createdAt;
    await make(id);
    expect(await row(database.sql, id)).toMatchObject({
      ...{ state: 'available', attempts, payload: { n: 2 }, again: null, createdAt: created },
    });
    const [due] = await database.sql<[{ s: number }]>`
      select extract(epoch from run_at - clock_timestamp())::float8 as s from jobs where id = ${id}`;
    expect(Math.abs(due.s - dueInS)).toBeLessThan(5);
    await database.sql`update jobs set run_at = now()`;
    expect(await runAll()).toEqual([{ payload: { n: 2 }, attempt: attempts + 1 }]);
    expect(await row(database.sql, id)).toBeUndefined();
  });
});

describe('what a finish answers', () => {
  it('is the state in which the run ended, and when the next is due', async () => {
    for (const [outcome, state, columns] of [
      [{ move: 'complete' }, 'completed', {}],
      [{ move: 'discard', error: 'pointless' }, 'discarded', {}],
      [{ move: 'fail', error: 'worse', delayMs: 50_000 }, 'discarded', spent],
    ] as const) {
      await database.sql`truncate jobs`;
      const id = await asked(columns);
      const answer = await end(outcome)(id);
      expect(answer).toEqual({
        id,
        lockedBy,
        result: 'done',
        state,
        queue: 'default',
        dueInMs: expect.any(Number),
      });
      expect(Math.abs(answer?.dueInMs ?? 1e9)).toBeLessThan(1_000);
    }
  });

  it('of those that complete is that nothing was done, for them alone', async () => {
    const id = await asked();
    const before = await verbatim(database.sql, id);
    const ids = await fill(database.sql).running(3, { lockedBy });
    const claims = [...ids.slice(0, 1), id, ...ids.slice(1)].map((each) => ({ id: each, lockedBy }));
    const answers = await completeMany(database.db, table, claims);
    expect(answers.map(({ result }) => result)).toEqual(['done', 'again', 'done', 'done']);
    expect(await verbatim(database.sql, id)).toBe(before);
    expect(await database.sql`select id::float8 as id from jobs`).toEqual([{ id }]);
    // Not of another claim's, and not while somebody holds the row.
    expect(await completeMany(database.db, table, [{ id, lockedBy: 'worker/9' }])).toMatchObject([
      { result: 'lost' },
    ]);
    await whileHeld(database.sql, [id], async () => {
      expect(
        await finish(database.db, table, [{ id, lockedBy, outcome: { move: 'complete' } }]),
      ).toMatchObject([{ result: 'busy' }]);
    });
  });

  it('of a complete inside a transaction is that of one of the two statements', async () => {
    const id = await asked();
    const plain = await given(database.sql).running({ lockedBy });
    const both = (job: number) =>
      database.db.transaction(async (tx) => [
        await completeIn(tx, table, { id: job, lockedBy }),
        await completeAgainIn(tx, table, { id: job, lockedBy }),
      ]);
    expect(await both(id)).toEqual([false, 'default']);
    expect(await both(plain)).toEqual([true, undefined]);
    expect(await both(id)).toEqual([false, undefined]);
  });
});

it('a batch of ends of both sorts', async () => {
  const id = await asked();
  const [plain = 0, last = 0] = await fill(database.sql).running(2, { lockedBy, attempts: 10 });
  const outcome = { move: 'fail', error: 'worse', delayMs: 0 } as const;
  const answers = await finish(
    database.db,
    table,
    [id, plain, last].map((each) => ({ id: each, lockedBy, outcome })),
  );
  expect(answers.map(({ state }) => state)).toEqual(['available', 'discarded', 'discarded']);
  expect(await row(database.sql, plain)).toMatchObject({ state: 'discarded', attempts: 10 });
});
