/**
 * A claim that is told where to begin: which jobs it finds, which lie before that, and what it says of where it ended.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { claim, findNext } from '../../src/sql/claim.js';
import type { Level } from '../../src/sql/claim-next.js';
import { useDatabase } from '../support/database.js';
import { fill, given, table, whileHeld } from '../support/jobs.js';

const database = useDatabase();
let claims = 0;

beforeEach(() => database.sql`truncate jobs`);

type Levels = Record<string, readonly Level[]>;

function take(want: Record<string, number>, levels?: Levels) {
  return claim(database.db, table, {
    want: new Map(Object.entries(want)),
    levels: levels && new Map(Object.entries(levels)),
    kinds: ['greet'],
    lockedBy: `worker/${++claims}`,
  });
}

async function idsOf(want: Record<string, number>, levels?: Levels): Promise<number[]> {
  return (await take(want, levels)).jobs.map(({ id }) => id);
}

/** The database's time, so many seconds ago. */
async function usAgo(seconds: number): Promise<number> {
  const [now] = await database.sql<[{ us: number }]>`
    select (extract(epoch from clock_timestamp() - ${seconds}::float8 * interval '1 s') * 1000000)::float8 as us`;
  return Math.round(now.us);
}

/** The `run_at` of a job as Postgres has it. */
async function runAtUs(id: number | undefined): Promise<number> {
  const [job] = await database.sql<{ us: string }[]>`
    select (extract(epoch from run_at) * 1000000)::bigint::text as us from jobs where id = ${id ?? null}`;
  return Number(job?.us);
}

describe('a priority with a bound', () => {
  it('is looked at from there on, the bound included, to the microsecond', async () => {
    const [bound] = await database.sql<[{ at: string; us: number }]>`
      select '2026-01-02 03:04:05.678901+00' as at,
             extract(epoch from timestamptz '2026-01-02 03:04:05.678901+00')::float8 * 1000000 as us`;
    const [before, at, after] = await Promise.all(
      [-1, 0, 1].map(async (us) => {
        const id = await given(database.sql).available();
        await database.sql`
          update jobs set run_at = ${bound.at}::text::timestamptz + ${us}::float8 * interval '1 microsecond' where id = ${id}`;
        return id;
      }),
    );
    expect(await idsOf({ default: 9 }, { default: [{ priority: 0, sinceUs: bound.us }] })).toEqual([
      at,
      after,
    ]);
    expect(await idsOf({ default: 9 })).toEqual([before]);
  });

  it('leaves what is not due yet, as ever', async () => {
    await given(database.sql).available({ dueInS: 60 });
    expect(await idsOf({ default: 9 }, { default: [{ priority: 0, sinceUs: await usAgo(60) }] })).toEqual([]);
  });

  it('is only that of its own queue', async () => {
    const { available } = given(database.sql);
    const [a, b, c] = [
      await available({ queue: 'a', dueInS: -100 }),
      await available({ queue: 'b', dueInS: -100 }),
      await available({ queue: 'c', dueInS: -100 }),
    ];
    const levels = {
      a: [{ priority: 0, sinceUs: await usAgo(50) }],
      b: [{ priority: 0, sinceUs: await usAgo(200) }],
      elsewhere: [{ priority: 0, sinceUs: await usAgo(0) }],
    };
    expect(await idsOf({ c: 9, b: 9, a: 9 }, levels)).toEqual([c, b]);
    expect(await idsOf({ a: 9 }, { a: [] })).toEqual([a]);
  });

  it('does not hide jobs that nobody else has, when those in front are held', async () => {
    const held = await fill(database.sql).available(5, { dueInS: -20 });
    const free = await given(database.sql).available({ dueInS: -10 });
    await whileHeld(database.sql, held, async () => {
      const levels = { default: [{ priority: 0, sinceUs: await usAgo(30) }] };
      expect(await idsOf({ default: 3 }, levels)).toEqual([free]);
    });
  });
});

describe('priorities without a bound', () => {
  const known = [5, -7, 0];
  /** In the order of their urgency: at, above, between and below the known ones. */
  const all = [32_767, 6, 5, 4, 1, 0, -1, -6, -7, -8, -32_768];

  it('are found as a whole, above, between and below those with one, and the order is that of urgency', async () => {
    const sinceUs = await usAgo(100);
    const ids = new Map<number, number>();
    for (const priority of [...all].reverse()) {
      await given(database.sql).available({ priority, dueInS: -300 });
      ids.set(priority, await given(database.sql).available({ priority, dueInS: -50 }));
    }
    const levels = { default: known.map((priority) => ({ priority, sinceUs })) };

    const { jobs, ended } = await take({ default: 100 }, levels);

    const found = await Promise.all(
      jobs.map(async ({ id }) => {
        const [job] = await database.sql<{ priority: number; old: boolean }[]>`
          select priority, run_at < now() - interval '100 s' as old from jobs where id = ${id}`;
        return job;
      }),
    );
    const expected = all.flatMap((priority) => [
      ...(known.includes(priority) ? [] : [{ priority, old: true }]),
      { priority, old: false },
    ]);
    expect(found).toEqual(expected);
    expect(ended.map(({ priority }) => priority).sort((a, b) => b - a)).toEqual(all);
  });

  it('are found next to the least and the greatest, which have one', async () => {
    const sinceUs = await usAgo(100);
    const { available } = given(database.sql);
    const [second, second_last] = [
      await available({ priority: 32_766, dueInS: -300 }),
      await available({ priority: -32_767, dueInS: -300 }),
    ];
    for (const priority of [32_767, -32_768]) await available({ priority, dueInS: -300 });
    const [first, last] = [await available({ priority: 32_767 }), await available({ priority: -32_768 })];
    const levels = { default: [-32_768, 32_767].map((priority) => ({ priority, sinceUs })) };
    expect(await idsOf({ default: 9 }, levels)).toEqual([first, second, second_last, last]);
  });

  it('are found though a known one between them has no jobs', async () => {
    const { available } = given(database.sql);
    const [high, low] = [await available({ priority: 9 }), await available({ priority: -9 })];
    const sinceUs = await usAgo(0);
    const levels = { default: Array.from({ length: 17 }, (_, n) => ({ priority: n - 8, sinceUs })) };
    expect(await idsOf({ default: 9 }, levels)).toEqual([high, low]);
  });
});

describe('where a claim ended', () => {
  it('is the last run_at it took, of each queue and priority, to the microsecond', async () => {
    const at = (text: string) => database.sql.unsafe(`'${text}'::timestamptz`);
    await database.sql`
      insert into jobs (kind, queue, priority, run_at) values
        ('greet', 'a', 3, ${at('2026-01-02 03:04:05.000001Z')}), ('greet', 'a', 3, ${at('2026-01-02 03:04:05.999999Z')}),
        ('greet', 'a', 1, ${at('2026-02-02 03:04:05.123457Z')}), ('greet', 'a', 1, ${at('2026-02-02 03:04:05.123459Z')}),
        ('greet', 'b', 0, ${at('2001-01-01 00:00:00.000001Z')})`;

    const { ended, jobs } = await take({ a: 3, b: 2, none: 5 });

    const second = Date.UTC(2026, 0, 2, 3, 4, 5) * 1_000;
    const third = Date.UTC(2026, 1, 2, 3, 4, 5) * 1_000;
    const byUrgency = [...ended].sort((x, y) => x.queue.localeCompare(y.queue) || y.priority - x.priority);
    expect(byUrgency).toEqual([
      { queue: 'a', priority: 3, sinceUs: second + 999_999 },
      { queue: 'a', priority: 1, sinceUs: third + 123_457 },
      { queue: 'b', priority: 0, sinceUs: Date.UTC(2001, 0, 1) * 1_000 + 1 },
    ]);
    expect(ended.find(({ priority }) => priority === 1)?.sinceUs).toBe(await runAtUs(jobs[2]?.id));
  });

  it('leads the next claim to the rest, and to nothing else', async () => {
    const ids = await fill(database.sql).available(1_000, {
      priority: database.sql`i % 4`,
      dueInS: database.sql`-1000 + i / 7`, // some at the same microsecond
    });
    await database.sql`update jobs set run_at = date_trunc('second', run_at)`;
    const levels = new Map<number, number>();
    const order: number[] = [];
    for (;;) {
      const known = [...levels].map(([priority, sinceUs]) => ({ priority, sinceUs }));
      const { jobs, ended } = await take({ default: 37 }, { default: known });
      if (jobs.length === 0) break;
      order.push(...jobs.map(({ id }) => id));
      for (const { priority, sinceUs } of ended) levels.set(priority, sinceUs);
    }
    const expected = await database.sql<{ id: number }[]>`
      select id::float8 as id from jobs order by priority desc, run_at, id`;
    expect(order).toEqual(expected.map(({ id }) => id));
    expect(order).toHaveLength(ids.length);
  });

  it('is nowhere when it took nothing, and the clock and the size of the table are told all the same', async () => {
    const before = await usAgo(0);
    const { jobs, ended, nowUs, tableBytes, refused } = await take({ default: 5 });
    expect({ jobs, ended, refused }).toEqual({ jobs: [], ended: [], refused: [] });
    expect(nowUs).toBeGreaterThanOrEqual(before);
    expect(nowUs).toBeLessThanOrEqual(await usAgo(0));
    expect(tableBytes).toBe(0);
  });

  it('comes with the size of the table, without its indexes', async () => {
    await fill(database.sql).available(1_000);
    const { tableBytes } = await take({ default: 5 });
    const [size] = await database.sql<[{ bytes: number }]>`select pg_relation_size('jobs')::float8 as bytes`;
    expect(tableBytes).toBe(size.bytes);
    expect(tableBytes).toBeGreaterThan(8_192);
  });
});

describe.each(['-infinity', '4000-01-01 00:00:00+00 BC', '1969-12-31 23:59:59+00'])(
  'jobs due since %s',
  (at) => {
    it('come first, all of them, also when a claim begins where one of them was the last', async () => {
      const later = await fill(database.sql).available(3);
      const first = await fill(database.sql).available(5);
      await database.sql`update jobs set run_at = ${database.sql.unsafe(`'${at}'`)} where id = any(${first})`;

      const one = await take({ default: 2 });
      const two = await take({ default: 9 }, { default: one.ended });

      expect([...one.jobs, ...two.jobs].map(({ id }) => id)).toEqual([...first, ...later]);
    });
  },
);

it('looking for what a claim would take goes through the same jobs', async () => {
  const { available } = given(database.sql);
  const old = await available({ dueInS: -300 });
  const due = await available({ dueInS: -50 });
  const urgent = await available({ priority: 7, dueInS: -300 });
  const request = { want: new Map([['default', 9]]), kinds: ['greet'] };
  const levels = new Map([['default', [{ priority: 0, sinceUs: await usAgo(100) }]]]);

  expect(await findNext(database.db, table, request)).toEqual([urgent, old, due]);
  expect(await findNext(database.db, table, { ...request, levels })).toEqual([urgent, due]);
  expect(await idsOf({ default: 9 })).toEqual([urgent, old, due]);
});

it('two queues keep their own limits and bounds in one claim', async () => {
  for (const queue of ['a', 'b']) {
    await fill(database.sql).available(5, { queue, dueInS: -300 });
    await fill(database.sql).available(5, { queue, dueInS: -50 });
    await fill(database.sql).available(2, { queue, priority: 2, dueInS: -300 });
  }
  const levels = {
    a: [{ priority: 0, sinceUs: await usAgo(100) }],
    b: [
      { priority: 0, sinceUs: await usAgo(400) },
      { priority: 2, sinceUs: await usAgo(100) },
    ],
  };
  const { jobs, ended } = await take({ a: 4, b: 7 }, levels);
  expect(jobs.map(({ queue }) => queue).join('')).toBe('aaaabbbbbbb');
  const told = ended.map(({ queue, priority }) => `${queue} ${priority}`).sort();
  expect(told).toEqual(['a 0', 'a 2', 'b 0']);
});
