/** The finishing moves of a worker: what each writes, and what it answers. */
import { beforeEach, describe, expect, it } from 'vitest';
import { isRowFault, sqlState } from '../../src/database/sqlstate.js';
import type { Finished } from '../../src/sql/finished.js';
import { errorBriefLimit, errorsKept, errorTextLimit } from '../../src/words/error-text.js';
import type { Outcome } from '../../src/words/outcome.js';
import { useDatabase } from '../support/database.js';
import { type Finish, finish } from '../support/finish.js';
import { fill, given, row, table, verbatim, whileHeld } from '../support/jobs.js';

const database = useDatabase();
const lockedBy = 'worker/1';
const century = 100 * 365 * 24 * 3600 * 1000;

beforeEach(() => database.sql`truncate jobs`);

async function end(id: number, outcome: Outcome, claim = lockedBy): Promise<Finished | undefined> {
  return (await finish(database.db, table, [{ id, lockedBy: claim, outcome }]))[0];
}
const fail = (error: unknown, delayMs?: number): Outcome => ({ move: 'fail', error, delayMs });

/** In how many ms the job is due, by the database's clock. */
async function dueInMs(id: number): Promise<number> {
  const [due] = await database.sql<[{ ms: number }]>`
    select extract(epoch from run_at - clock_timestamp())::float8 * 1000 as ms from jobs where id = ${id}`;
  return due.ms;
}

const idle = { lockedBy: null, heartbeatAt: null, startedAt: null };

describe('complete', () => {
  it('deletes the row', async () => {
    const id = await given(database.sql).running();
    expect(await end(id, { move: 'complete' })).toEqual({
      id,
      lockedBy,
      result: 'done',
      state: null,
      dueInMs: null,
    });
    expect(await row(database.sql, id)).toBeUndefined();
  });
});

describe('fail', () => {
  it('makes the job available again, keeps the attempt counted and records the error', async () => {
    const id = await given(database.sql).running({ attempts: 3, lastError: 'an older one' });
    const answer = await end(id, fail(new Error('no luck'), 60_000));

    expect(answer).toMatchObject({ result: 'done', state: 'available' });
    expect(await row(database.sql, id)).toMatchObject({
      ...idle,
      state: 'available',
      attempts: 3,
      finishedAt: null,
      lastError: expect.stringMatching(/^Error: no luck\n {4}at /),
      errors: [
        { attempt: 3, at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/), error: 'Error: no luck' },
      ],
    });
  });

  it('discards the job when its attempts are used up', async () => {
    const id = await given(database.sql).running({ attempts: 5, maxAttempts: 5 });
    expect(await end(id, fail('no luck', 0))).toMatchObject({ result: 'done', state: 'discarded' });
    expect(await row(database.sql, id)).toMatchObject({
      ...idle,
      state: 'discarded',
      attempts: 5,
      finishedAt: expect.any(Date),
      lastError: 'no luck',
    });
  });

  it.each([0, 1, 1_500, 3_600_000, century])('waits %i ms where the kind says so', async (delayMs) => {
    const id = await given(database.sql).running();
    const answer = await end(id, fail('no luck', delayMs));
    const due = await dueInMs(id);
    expect(due).toBeLessThanOrEqual(delayMs);
    expect(due).toBeGreaterThan(delayMs - 5_000);
    expect(answer?.dueInMs).toBeCloseTo(delayMs, -3);
  });

  const attempts = [...Array.from({ length: 40 }, (_, n) => n + 1), 1_000, 2 ** 31 - 2, 2 ** 31 - 1];
  it('else waits for min(2^attempts, 3600) s, half of it by chance, and never under a second', async () => {
    const rounds = 5;
    const finishes: Finish[] = [];
    const attemptOf = new Map<number, number>();
    for (const attempt of attempts) {
      const ids = await fill(database.sql).running(rounds, { attempts: attempt, maxAttempts: 2 ** 31 - 1 });
      for (const id of ids) {
        finishes.push({ id, lockedBy, outcome: fail('no luck') });
        attemptOf.set(id, attempt);
      }
    }
    const answers = await finish(database.db, table, finishes);

    expect(answers).toHaveLength(finishes.length);
    const waits = answers
      .filter(({ state }) => state === 'available')
      .map(({ id, dueInMs }) => ({ attempt: attemptOf.get(id) ?? 0, dueInMs: dueInMs ?? 0 }));
    // All but the last, whose attempts are used up.
    expect(waits).toHaveLength((attempts.length - 1) * rounds);
    for (const { attempt, dueInMs } of waits) {
      const longest = Math.min(2 ** attempt, 3_600) * 1_000;
      expect(dueInMs).toBeLessThanOrEqual(longest);
      expect(dueInMs).toBeGreaterThan(Math.max(longest / 2, 1_000) - 500);
    }
    expect(new Set(waits.map(({ dueInMs }) => Math.round(dueInMs / 1_000))).size).toBeGreaterThan(50);
  });
});

describe('the record of errors', () => {
  it('keeps the latest, and drops the oldest', async () => {
    const id = await given(database.sql).running({ attempts: 1, maxAttempts: 1_000 });
    for (let attempt = 1; attempt <= errorsKept + 3; attempt++) {
      await database.sql`update jobs set state = 'running', attempts = ${attempt}, locked_by = ${lockedBy},
        heartbeat_at = now(), started_at = now() where id = ${id}`;
      await end(id, fail(`failure ${attempt}`, 0));
    }
    const kept = await row(database.sql, id);
    expect(kept?.errors.map(({ attempt, error }) => [attempt, error])).toEqual(
      Array.from({ length: errorsKept }, (_, n) => [n + 4, `failure ${n + 4}`]),
    );
  });

  it('holds text that Postgres takes, cut without splitting a character', async () => {
    const id = await given(database.sql).running();
    await end(id, fail(`\0 \ud800 ${'😀'.repeat(20_000)}`));
    const { lastError, errors } = (await row(database.sql, id)) ?? {};
    expect(lastError).toMatch(/^\ufffd \ufffd 😀+… \(cut\)$/u);
    expect(lastError?.length).toBeLessThanOrEqual(errorTextLimit);
    expect(errors?.[0]?.error).toMatch(/^\ufffd \ufffd 😀+… \(cut\)$/u);
    expect(errors?.[0]?.error.length).toBeLessThanOrEqual(errorBriefLimit);
  });

  it.each([null, undefined, '', 0, Symbol('s'), 10n, () => {}, { toString: null }])(
    'has a text for whatever was thrown (%#)',
    async (thrown) => {
      const id = await given(database.sql).running();
      await end(id, fail(thrown));
      const { lastError, errors } = (await row(database.sql, id)) ?? {};
      expect(lastError?.length).toBeGreaterThan(0);
      expect(errors?.[0]?.error.length).toBeGreaterThan(0);
    },
  );
});

describe('discard', () => {
  it('ends the job at once, with the reason', async () => {
    const id = await given(database.sql).running({ attempts: 1 });
    const before = await row(database.sql, id);
    expect(await end(id, { move: 'discard', error: 'no such user' })).toMatchObject({ state: 'discarded' });
    expect(await row(database.sql, id)).toMatchObject({
      ...idle,
      state: 'discarded',
      attempts: 1,
      runAt: before?.runAt,
      finishedAt: expect.any(Date),
      lastError: 'no such user',
      errors: [{ attempt: 1, error: 'no such user' }],
    });
  });
});

describe('snooze', () => {
  it('gives the attempt back, records no error, and waits as long as was said', async () => {
    const id = await given(database.sql).running({ attempts: 3, lastError: 'an older one' });
    const answer = await end(id, { move: 'snooze', when: { delayMs: 90_000 } });
    expect(answer).toMatchObject({ result: 'done', state: 'available' });
    expect(answer?.dueInMs).toBeCloseTo(90_000, -3);
    expect(await row(database.sql, id)).toMatchObject({
      ...idle,
      state: 'available',
      attempts: 2,
      lastError: 'an older one',
      errors: [],
    });
  });

  it('waits until an instant', async () => {
    const id = await given(database.sql).running();
    await end(id, { move: 'snooze', when: { runAt: '2099-12-31T23:59:59.123Z' } });
    expect((await row(database.sql, id))?.runAt.toISOString()).toBe('2099-12-31T23:59:59.123Z');
  });

  it('never counts below zero', async () => {
    const id = await given(database.sql).running({ attempts: 0 });
    await end(id, { move: 'snooze', when: { delayMs: 0 } });
    expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 0 });
  });
});

describe('release', () => {
  it('gives a job whose handler had not started back as it was', async () => {
    const id = await given(database.sql).running({ attempts: 10, maxAttempts: 10, dueInS: -500 });
    const before = await row(database.sql, id);
    await end(id, { move: 'release', started: false });
    expect(await row(database.sql, id)).toEqual({ ...before, ...idle, state: 'available', attempts: 9 });
  });

  it('keeps the attempt of one that ran, records why, and lets it run at once, once beyond the last attempt', async () => {
    const id = await given(database.sql).running({ attempts: 10, maxAttempts: 10, dueInS: -500 });
    const before = await row(database.sql, id);

    expect(await end(id, { move: 'release', started: true })).toMatchObject({ state: 'available' });

    const released = await row(database.sql, id);
    expect(released).toMatchObject({ ...idle, state: 'available', attempts: 10, runAt: before?.runAt });
    expect(released?.errors).toMatchObject([{ attempt: 10, error: expect.stringContaining('stopped') }]);
  });

  it('discards one that was stopped in the attempt beyond its last', async () => {
    const id = await given(database.sql).running({ attempts: 11, maxAttempts: 10 });
    expect(await end(id, { move: 'release', started: true })).toMatchObject({ state: 'discarded' });
    expect(await row(database.sql, id)).toMatchObject({
      ...idle,
      state: 'discarded',
      finishedAt: expect.any(Date),
    });
  });
});

describe('rows that came by plain SQL', () => {
  it.each(['-infinity', 'infinity'])('with a run_at of %s end like others', async (runAt) => {
    const ids = await fill(database.sql).running(3);
    await database.sql`update jobs set run_at = ${runAt}::text::timestamptz`;
    const outcomes: Outcome[] = [
      { move: 'discard', error: 'x' },
      { move: 'release', started: false },
      { move: 'complete' },
    ];
    const answers = await finish(
      database.db,
      table,
      ids.map((id, n) => ({ id, lockedBy, outcome: outcomes[n] ?? { move: 'complete' } })),
    );
    expect(answers.map(({ result }) => result)).toEqual(['done', 'done', 'done']);
  });
});

describe('a batch', () => {
  it('makes every move', async () => {
    const ids = await fill(database.sql).running(6);
    const outcomes: Outcome[] = [
      { move: 'complete' },
      fail('no luck'),
      { move: 'discard', error: 'pointless' },
      { move: 'snooze', when: { delayMs: 5_000 } },
      { move: 'release', started: true },
      { move: 'release', started: false },
    ];
    const finishes = ids.map((id, n) => ({ id, lockedBy, outcome: outcomes[n] ?? { move: 'complete' } }));
    await finish(database.db, table, finishes);
    const states = await Promise.all(ids.map(async (id) => (await row(database.sql, id))?.state));
    expect(states).toEqual([undefined, 'available', 'discarded', 'available', 'available', 'available']);
  });

  it('tells a stale run of a job from the current one', async () => {
    const id = await given(database.sql).running({ lockedBy: 'worker/2', attempts: 2 });
    const answers = await finish(database.db, table, [
      { id, lockedBy: 'worker/1', outcome: { move: 'complete' } },
      { id, lockedBy: 'worker/2', outcome: fail('no luck', 1_000) },
    ]);
    expect(answers.find((answer) => answer.lockedBy === 'worker/1')).toMatchObject({ result: 'lost' });
    expect(answers.find((answer) => answer.lockedBy === 'worker/2')).toMatchObject({ result: 'done' });
    expect(await row(database.sql, id)).toMatchObject({ state: 'available', lastError: 'no luck' });
  });

  it('writes what it can and says of the rest why not, without waiting', async () => {
    const [mine, held] = await fill(database.sql).running(2);
    const other = await given(database.sql).running({ lockedBy: 'worker/9' });
    const moved = await given(database.sql).cancelled();
    if (!mine || !held) throw new Error('Two rows are needed.');
    const ids = [mine, held, other, moved, 2 ** 52];
    const untouched = await Promise.all([held, other, moved].map((id) => verbatim(database.sql, id)));

    const answers = await whileHeld(database.sql, [held], () =>
      finish(
        database.db,
        table,
        ids.map((id) => ({ id, lockedBy, outcome: { move: 'complete' } })),
      ),
    );

    const results = new Map(answers.map(({ id, result }) => [id, result]));
    expect(ids.map((id) => results.get(id))).toEqual(['done', 'busy', 'lost', 'lost', 'gone']);
    expect(await Promise.all([held, other, moved].map((id) => verbatim(database.sql, id)))).toEqual(
      untouched,
    );
  });

  it('of a busy job can be sent again when the other transaction is over', async () => {
    const id = await given(database.sql).running();
    await whileHeld(database.sql, [id], async () => {
      expect(await end(id, { move: 'complete' })).toMatchObject({ result: 'busy' });
    });
    expect(await end(id, { move: 'complete' })).toMatchObject({ result: 'done' });
    expect(await end(id, { move: 'complete' })).toMatchObject({ result: 'gone' });
  });

  const bad: [string, Outcome][] = [
    ['a time that is none', { move: 'snooze', when: { runAt: 'soon' } }],
    ['a time beyond all times', { move: 'snooze', when: { delayMs: 1e17 } }],
    ['a delay that no integer holds', fail('x', 1e300)],
    ['a delay that is not whole', fail('x', 0.5)],
  ];
  it.each(bad)('with %s fails as a whole, by a fault of its rows, and writes nothing', async (_, outcome) => {
    const ids = await fill(database.sql).running(2);
    const [good, wrong] = ids;
    if (!good || !wrong) throw new Error('Two rows are needed.');
    const before = await verbatim(database.sql, good);

    const error = await finish(database.db, table, [
      { id: good, lockedBy, outcome: { move: 'release', started: true } },
      { id: wrong, lockedBy, outcome },
    ]).catch((thrown: unknown) => thrown);

    expect(sqlState(error)).toMatch(/^22/);
    expect(isRowFault(error)).toBe(true);
    expect(await verbatim(database.sql, good)).toBe(before);
  });

  it('that is refused by a trigger of the app fails by a fault of its rows', async () => {
    const id = await given(database.sql).running({ kind: 'guarded' });
    await database.sql.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not you'; end $$;
      create trigger refuse before delete on jobs for each row when (old.kind = 'guarded') execute function refuse()`);
    const error = await end(id, { move: 'complete' }).catch((thrown: unknown) => thrown);
    expect(isRowFault(error)).toBe(true);
    await database.sql`drop trigger refuse on jobs`;
  });

  it('says refused where Postgres changes nothing and gives no error', async () => {
    const [kept, other] = await fill(database.sql).running(2);
    if (!kept || !other) throw new Error('Two rows are needed.');
    const before = await verbatim(database.sql, kept);
    await database.sql.unsafe(`
      create function keep() returns trigger language plpgsql as $$ begin return null; end $$;
      create trigger keep before delete or update on jobs for each row when (old.id = ${kept}) execute function keep()`);
    for (const outcome of [{ move: 'complete' }, fail('no luck')] satisfies Outcome[]) {
      const answers = await finish(database.db, table, [{ id: kept, lockedBy, outcome }]);
      expect(answers).toEqual([{ id: kept, lockedBy, result: 'refused', state: null, dueInMs: null }]);
    }
    expect(
      await finish(database.db, table, [{ id: other, lockedBy, outcome: { move: 'complete' } }]),
    ).toEqual([expect.objectContaining({ result: 'done' })]);
    expect(await verbatim(database.sql, kept)).toBe(before);
    await database.sql`drop function keep cascade`;
  });

  it('may be empty', async () => {
    expect(await finish(database.db, table, [])).toEqual([]);
  });

  it('takes 500 long errors at once', async () => {
    const ids = await fill(database.sql).running(500);
    const finishes = ids.map((id) => ({ id, lockedBy, outcome: fail(new Error('é'.repeat(50_000))) }));
    const answers = await finish(database.db, table, finishes);
    expect(answers.filter(({ result }) => result === 'done')).toHaveLength(500);
  });
});
