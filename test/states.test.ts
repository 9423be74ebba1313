/**
 * Every move of `words/states.ts` from every state, and from "no such row", against the real database; and the
 * table's own rules. Driven by the data: a new state or move without its line here does not compile, and fails.
 */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancel } from '../src/sql/cancel.js';
import { claim } from '../src/sql/claim.js';
import { completeAgainIn, completeIn } from '../src/sql/complete.js';
import { heartbeat } from '../src/sql/heartbeat.js';
import { keepIn } from '../src/sql/keep.js';
import type { MovedRow } from '../src/sql/persons-move.js';
import { releaseClaims } from '../src/sql/release-claims.js';
import { remove } from '../src/sql/remove.js';
import { replay } from '../src/sql/replay.js';
import { reschedule } from '../src/sql/reschedule.js';
import { rescue } from '../src/sql/rescue.js';
import { update } from '../src/sql/update.js';
import type { Outcome } from '../src/words/outcome.js';
import { type Destination, type Move, type MoveName, moves, states } from '../src/words/states.js';
import { useDatabase } from './support/database.js';
import { finish } from './support/finish.js';
import { given, type RunningColumns, row, table, untilServerHasRunFor, verbatim } from './support/jobs.js';

const database = useDatabase();
const lockedBy = 'worker/1';
const channel = 'nobody_listens';
const late = 3_600;

/** One way to make a move, where it should lead, and what must be true of the row for that. */
type Way = {
  to: Destination;
  given?: RunningColumns;
  /** Makes the move on this job, as the worker that has it, and gives what the statement answers about it. */
  make(id: number): Promise<unknown>;
  /** What it answers when the job did not move, and when there is no such job. */
  refusal: unknown;
  absence: unknown;
  /** What it answers when the job is completed and kept; the refusal where this is left out. */
  completed?: unknown;
};

const ways: Record<MoveName, readonly Way[]> = {
  claim: [
    {
      to: 'running',
      make: async (id) => {
        const request = { want: new Map([['default', 100]]), kinds: ['greet'], lockedBy: 'worker/2' };
        return (await claim(database.db, table, request)).jobs.some((job) => job.id === id);
      },
      refusal: false,
      absence: false,
    },
  ],
  heartbeat: [
    {
      to: 'running',
      make: async (id) => (await heartbeat(database.db, table, [{ id, lockedBy }]))[0]?.pulse,
      refusal: 'lost',
      absence: 'gone',
      completed: 'gone',
    },
  ],
  complete: [
    finishing('gone', { move: 'complete' }),
    finishing('available', { move: 'complete' }, { again: true }),
    finishing('completed', { move: 'complete', kept: { result: '{"n": 1}' } }),
    finishing('available', { move: 'complete', kept: { result: '{"n": 1}' } }, { again: true }),
    {
      to: 'gone',
      make: (id) => database.db.transaction((tx) => completeIn(tx, table, { id, lockedBy })),
      refusal: false,
      absence: false,
    },
    {
      to: 'available',
      given: { again: true },
      make: (id) => database.db.transaction((tx) => completeAgainIn(tx, table, { id, lockedBy })),
      refusal: undefined,
      absence: undefined,
    },
    {
      to: 'completed',
      make: (id) =>
        database.db.transaction((tx) => keepIn(tx, table, { id, lockedBy }, { result: undefined })),
      refusal: false,
      absence: false,
    },
  ],
  fail: [
    finishing('available', { move: 'fail', error: 'no luck', delayMs: undefined }),
    finishing('discarded', { move: 'fail', error: 'no luck', delayMs: undefined }, { attempts: 10 }),
    finishing('available', { move: 'fail', error: 'no luck', delayMs: 0 }, { attempts: 10, again: true }),
  ],
  discard: [
    finishing('discarded', { move: 'discard', error: 'pointless' }),
    finishing('available', { move: 'discard', error: 'pointless' }, { again: true }),
  ],
  snooze: [finishing('available', { move: 'snooze', when: { delayMs: 1_000 } })],
  release: [
    finishing('available', { move: 'release', started: false }),
    finishing('available', { move: 'release', started: true }, { attempts: 10 }),
    finishing('discarded', { move: 'release', started: true }, { attempts: 11 }),
    finishing('available', { move: 'release', started: true }, { attempts: 11, again: true }),
    {
      to: 'available',
      make: async (id) => (await releaseClaims(database.db, table, [lockedBy])).includes(id),
      refusal: false,
      absence: false,
    },
  ],
  rescue: [
    rescuing('available', { attempts: 9 }),
    rescuing('discarded', { attempts: 10 }),
    rescuing('available', { attempts: 10, again: true }),
  ],
  cancel: [byPerson('cancelled', (id) => cancel(database.db, table, channel, [id]))],
  replay: [byPerson('available', (id) => replay(database.db, table, channel, [id]))],
  reschedule: [
    byPerson('available', (id) => reschedule(database.db, table, channel, [id], { delayMs: 0 })),
    byPerson('available', (id) =>
      reschedule(database.db, table, channel, [id], { runAt: '2999-01-01T00:00:00.000Z' }),
    ),
  ],
  update: [byPerson('available', (id) => update(database.db, table, [id], anotherPayload))],
  remove: [byPerson('gone', (id) => remove(database.db, table, channel, [id]))],
};

const anotherPayload = { kinds: ['greet'], payload: '{"n": 1}', payloadVersion: 1 };

function byPerson(to: Destination, make: (id: number) => Promise<MovedRow[]>): Way {
  return {
    to,
    make: async (id) => (await make(id)).map(({ result }) => result).join(),
    refusal: 'refused',
    absence: 'gone',
  };
}

function finishing(to: Destination, outcome: Outcome, columns: RunningColumns = {}): Way {
  return {
    to,
    given: columns,
    make: async (id) => (await finish(database.db, table, [{ id, lockedBy, outcome }]))[0]?.result,
    refusal: 'lost',
    absence: 'gone',
    completed: 'gone',
  };
}

function rescuing(to: Destination, columns: RunningColumns): Way {
  return {
    to,
    given: { ...columns, timeoutS: 1, heartbeatAgoS: late },
    make: async (id) => (await rescue(database.db, table)).some((job) => job.id === id),
    refusal: false,
    absence: false,
  };
}

const allMoves: [MoveName, Move][] = Object.entries(moves) as [MoveName, Move][];

beforeAll(() => untilServerHasRunFor(database.sql, 1.5));
beforeEach(() => database.sql`truncate jobs`);

describe.each(allMoves)('%s', (name, { from, to }) => {
  it('is tried to every state it may lead to, and to no other', () => {
    expect(new Set(ways[name]?.map((way) => way.to))).toEqual(new Set(to));
  });

  describe.each((ways[name] ?? []).map((way, n) => ({ ...way, way: n + 1 })))('to $to, way $way', (way) => {
    it.each(from)('leads there from %s', async (state) => {
      const id = await given(database.sql)[state]({ lockedBy, ...way.given });
      const before = await verbatim(database.sql, id);

      const answer = await way.make(id);

      expect(answer).not.toEqual(way.refusal);
      expect(answer).not.toEqual(way.absence);
      expect((await row(database.sql, id))?.state ?? 'gone').toBe(way.to);
      expect(await verbatim(database.sql, id)).not.toBe(before);
    });

    it.each(states.filter((state) => !from.includes(state)))(
      'changes nothing from %s, and says so',
      async (state) => {
        const id = await given(database.sql)[state]({ lockedBy, ...way.given });
        const before = await verbatim(database.sql, id);

        const answer = await way.make(id);

        expect(answer).toEqual(state === 'completed' ? (way.completed ?? way.refusal) : way.refusal);
        expect(await verbatim(database.sql, id)).toBe(before);
      },
    );

    it('makes no row where there is none, and says so', async () => {
      const id = await given(database.sql).available();
      await database.sql`delete from jobs where id = ${id}`;
      const [before] = await database.sql`select count(*) from jobs`;

      const answer = await way.make(id);

      expect(answer).toEqual(way.absence);
      expect(await database.sql`select count(*) from jobs`).toEqual([before]);
    });
  });
});

describe('the table', () => {
  it('has the states of the list and no others', async () => {
    const [check] = await database.sql<{ said: string }[]>`
      select pg_get_constraintdef(oid) as said from pg_constraint where conname = 'jobs_finished_when_final'`;
    const named = [...(check?.said ?? '').matchAll(/'([^']+)'::text/g)].map(([, state]) => state);
    expect(new Set(named)).toEqual(new Set(states));
  });

  it('completes a row that names only its kind', async () => {
    const [made] = await database.sql<{ id: number }[]>`
      insert into jobs (kind) values ('greet') returning id::float8 as id`;
    const now = expect.any(Date);
    expect(await row(database.sql, made?.id ?? 0)).toEqual({
      id: made?.id,
      queue: 'default',
      kind: 'greet',
      payload: {},
      payloadVersion: 1,
      priority: 0,
      runAt: now,
      state: 'available',
      attempts: 0,
      maxAttempts: 10,
      timeoutS: 60,
      timeoutMs: null,
      lockedBy: null,
      heartbeatAt: null,
      startedAt: null,
      lastError: null,
      errors: [],
      dedupeKey: null,
      again: null,
      limitKey: null,
      meta: null,
      result: null,
      createdAt: now,
      finishedAt: null,
    });
  });

  const now = new Date();
  const running = { state: 'running', locked_by: 'worker/1', heartbeat_at: now, started_at: now };
  const nonsense: Record<string, readonly Record<string, string | number | Date | object | null>[]> = {
    jobs_running_is_locked: [
      { ...running, locked_by: null },
      { ...running, heartbeat_at: null },
      { ...running, started_at: null },
      { locked_by: 'worker/1' },
      { heartbeat_at: now },
      { started_at: now },
      { ...running, state: 'cancelled', finished_at: now },
    ],
    jobs_finished_when_final: [
      { state: 'weird' },
      { state: 'weird', finished_at: now },
      { state: '' },
      { state: 'Available' },
      { state: 'completed' },
      { state: 'discarded' },
      { state: 'cancelled' },
      { finished_at: now },
      { ...running, finished_at: now },
    ],
    jobs_counts: [
      { attempts: -1 },
      { max_attempts: 0 },
      { max_attempts: -1 },
      { timeout_s: 0 },
      { timeout_s: -60 },
      { payload_version: 0 },
      { timeout_ms: 0 },
    ],
    jobs_not_empty: [{ queue: '' }, { kind: '' }, { dedupe_key: '' }, { limit_key: '' }],
    jobs_errors: [{ errors: {} }, { errors: '[]' }, { errors: 1 }],
  };

  it('has no CHECK that is not tried here', async () => {
    const checks = await database.sql<{ name: string }[]>`
      select conname as name from pg_constraint where conrelid = 'jobs'::regclass and contype = 'c'`;
    expect(new Set(checks.map(({ name }) => name))).toEqual(new Set(Object.keys(nonsense)));
  });

  const tries = Object.entries(nonsense).flatMap(([check, rows]) =>
    rows.map((columns) => ({ check, columns })),
  );
  it.each(tries)('refuses $columns by $check', async ({ check, columns }) => {
    const { sql } = database;
    const insert = sql`insert into jobs ${sql({ kind: 'greet', ...columns })}`;
    await expect(insert).rejects.toMatchObject({ code: '23514', constraint_name: check });
  });

  it('takes names and keys of the greatest length, counted in characters', async () => {
    const { sql } = database;
    const names = { queue: '😀'.repeat(128), kind: 'é'.repeat(128), dedupe_key: '😀'.repeat(512) };
    await expect(sql`insert into jobs ${sql(names)} returning 1 as made`).resolves.toEqual([{ made: 1 }]);
  });
});
