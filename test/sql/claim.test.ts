/** The `claim` move: which jobs it takes, in which order, and which it leaves alone. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type ClaimedJob, claim } from '../../src/sql/claim.js';
import { largestClaim } from '../../src/sql/claim-next.js';
import { useDatabase } from '../support/database.js';
import { fill, given, row, table, whileHeld } from '../support/jobs.js';

const database = useDatabase();
let claims = 0;

beforeEach(() => database.sql`truncate jobs`);

async function take(
  want: Record<string, number>,
  kinds: readonly string[] = ['greet'],
): Promise<readonly ClaimedJob[]> {
  const lockedBy = `worker/${++claims}`;
  return (await claim(database.db, table, { want: new Map(Object.entries(want)), kinds, lockedBy })).jobs;
}
const idsOf = (jobs: readonly ClaimedJob[]) => jobs.map(({ id }) => id);

describe('a claimed job', () => {
  it('is running under the claim, with the attempt counted, and comes with what its handler needs', async () => {
    const payload = { to: 'you', deep: [1, null, { 'a"b': 'c\\d' }] };
    const id = await given(database.sql).available({ queue: 'mail', payload, attempts: 2, maxAttempts: 5 });

    const jobs = await take({ mail: 1 });

    const lockedBy = `worker/${claims}`;
    expect(jobs).toEqual([
      { id, lockedBy, queue: 'mail', kind: 'greet', payload, attempt: 3, maxAttempts: 5, payloadVersion: 1 },
    ]);
    const now = await database.sql<[{ now: Date }]>`select clock_timestamp() as now`;
    const claimed = await row(database.sql, id);
    expect(claimed).toMatchObject({ state: 'running', lockedBy, attempts: 3, finishedAt: null });
    expect(now[0].now.getTime() - (claimed?.startedAt?.getTime() ?? 0)).toBeLessThan(5_000);
    expect(now[0].now.getTime() - (claimed?.heartbeatAt?.getTime() ?? 0)).toBeLessThan(5_000);
  });

  it.each([null, [], 'text', 7, false])(
    'keeps the payload %j of a row that came by plain SQL',
    async (payload) => {
      await given(database.sql).available({ payload });
      expect(await take({ default: 1 })).toMatchObject([{ payload }]);
    },
  );

  it('is claimed even when its attempts cannot be counted any further', async () => {
    const id = await given(database.sql).available({ attempts: 2 ** 31 - 1 });
    const other = await given(database.sql).available();

    expect(idsOf(await take({ default: 2 })).sort()).toEqual([id, other]);
    expect(await row(database.sql, id)).toMatchObject({ attempts: 2 ** 31 - 1 });
  });
});

describe('the order', () => {
  it('is priority downwards, then run_at, then id', async () => {
    const { available } = given(database.sql);
    const late = await available({ dueInS: -10 });
    const lowest = await available({ priority: -32_768, dueInS: -9_000 });
    const early = await available({ dueInS: -500 });
    const urgent = await available({ priority: 32_767, dueInS: -1 });
    await database.sql`insert into jobs (kind, run_at) select 'greet', now() - interval '5 s' from generate_series(1, 3)`;
    const same = (await database.sql<{ id: number }[]>`select max(id)::int as id from jobs`)[0]?.id ?? 0;

    const order = [urgent, early, late, same - 2, same - 1, same, lowest];

    const batches = [await take({ default: 2 }), await take({ default: 2 }), await take({ default: 9 })];
    expect(batches.map(idsOf)).toEqual([order.slice(0, 2), order.slice(2, 4), order.slice(4)]);
  });

  it('is that of the queues as asked, and within each by urgency', async () => {
    const { available } = given(database.sql);
    const [a1, b1, a2, b2] = [
      await available({ queue: 'a' }),
      await available({ queue: 'b', priority: 9 }),
      await available({ queue: 'a', priority: 5 }),
      await available({ queue: 'b', priority: 10 }),
    ];
    expect(idsOf(await take({ b: 2, a: 2 }))).toEqual([b2, b1, a2, a1]);
  });
});

describe('the limit', () => {
  it('is each queue’s own, and other queues are left alone', async () => {
    for (const queue of ['a', 'b', 'c']) await fill(database.sql).available(5, { queue });

    const jobs = await take({ a: 2, b: 9 });

    expect(jobs.map(({ queue }) => queue)).toEqual(['a', 'a', 'b', 'b', 'b', 'b', 'b']);
  });

  it('holds across priorities', async () => {
    await fill(database.sql).available(30, { priority: database.sql`i % 10` });
    expect(await take({ default: 4 })).toHaveLength(4);
  });

  it('goes up to the largest claim', async () => {
    await fill(database.sql).available(largestClaim + 5);
    expect(await take({ default: largestClaim })).toHaveLength(largestClaim);
    expect(await take({ default: largestClaim })).toHaveLength(5);
  });

  it('is the number of rows locked while the claim’s transaction is open, not more', async () => {
    await fill(database.sql).available(100, { priority: database.sql`i % 3` });
    await database.sql`analyze jobs`;

    await database.db.transaction(async (tx) => {
      const request = { want: new Map([['default', 7]]), kinds: ['greet'], lockedBy: 'worker/open' };
      expect((await claim(tx, table, request)).jobs).toHaveLength(7);
      const free = await database.sql`select id from jobs for update skip locked`;
      expect(free).toHaveLength(93);
    });
  });

  it.each([0, 3])('of a queue with %i jobs that are due is what there is', async (due) => {
    await fill(database.sql).available(due);
    expect(await take({ default: 5 })).toHaveLength(due);
  });
});

describe('what is left alone', () => {
  it('is what is not due yet, also where it is more urgent', async () => {
    const future = await given(database.sql).available({ priority: 9, dueInS: 3_600 });
    const due = await given(database.sql).available({ dueInS: -1 });

    expect(idsOf(await take({ default: 5 }))).toEqual([due]);
    expect(await row(database.sql, future)).toMatchObject({ state: 'available', attempts: 0 });
  });

  it('is what is of a kind not asked for, however many of them lie in front', async () => {
    await fill(database.sql).available(1_500, { kind: 'newer', priority: 5 });
    await fill(database.sql).available(1_500, { kind: 'newer', dueInS: -3_600 });
    const known = await given(database.sql).available();

    expect(idsOf(await take({ default: 5 }))).toEqual([known]);
    await expect(database.sql`select * from jobs where kind = 'newer' and attempts > 0`).resolves.toEqual([]);
  });

  it('is everything when no kind is asked for', async () => {
    await given(database.sql).available();
    expect(await take({ default: 5 }, [])).toEqual([]);
  });

  it('is what another transaction holds: it is skipped without waiting, to the next priority if need be', async () => {
    const held = await fill(database.sql).available(1_000, { priority: 5 });
    const free = await fill(database.sql).available(3);

    await whileHeld(database.sql, held, async () => {
      expect(idsOf(await take({ default: 10 }))).toEqual(free);
    });
    expect(await take({ default: 10 })).toHaveLength(10);
  });
});

describe('names of queues and kinds', () => {
  const odd = [
    'NULL',
    'null',
    "it's",
    '"',
    '\\',
    '\\"',
    '{a,b}',
    '{}',
    ',',
    ' ',
    ' padded ',
    '\n\t',
    '😀',
    '%s',
    '$1',
    '--',
    '🧵'.repeat(128),
    'é'.repeat(128),
    "'; drop table jobs; --",
  ];

  it('are taken as they are, however odd, many in one claim', async () => {
    for (const name of odd) await given(database.sql).available({ queue: name, kind: name });

    const jobs = await take(Object.fromEntries(odd.map((name) => [name, 5])), odd);

    expect(jobs.map(({ queue }) => queue)).toEqual(odd);
    expect(jobs.map(({ kind }) => kind)).toEqual(odd);
  });

  it.each(odd)('%j is no other name', async (name) => {
    await given(database.sql).available({ queue: name, kind: name });
    const others = odd.filter((other) => other !== name);

    expect(await take({ [name]: 5 }, others)).toEqual([]);
    expect(await take(Object.fromEntries(others.map((other) => [other, 5])), [name])).toEqual([]);
    expect(await take({ [name]: 5 }, [name])).toHaveLength(1);
  });
});
