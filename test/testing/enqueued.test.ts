/** `enqueued`, `assertEnqueued` and `advance`: which rows they mean, and what they say. */
import { describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { advance, assertEnqueued, enqueued, rolledBack } from '../../src/testing.js';
import { useDatabase } from '../support/database.js';
import { given } from '../support/jobs.js';

const database = useDatabase();
const queue = createQueue(defineJobs({ greet: job<{ n: number }>(), ping: job() }));

/** Rows of every state, of a database that others would have; they are gone with the test. */
async function withRows(work: () => Promise<void>): Promise<void> {
  try {
    const make = given(database.sql);
    await make.available({ payload: { n: 1 } });
    await make.running({ payload: { n: 2 } });
    await make.discarded({ payload: { n: 3 } });
    await make.cancelled({ payload: { n: 4 } });
    await work();
  } finally {
    await database.sql`truncate jobs`;
  }
}

describe('enqueued', () => {
  it('means jobs that wait, and no other', () =>
    withRows(async () => {
      const found = await enqueued(database.db, queue, 'greet');
      expect(found.map(({ payload }) => payload)).toEqual([{ n: 1 }]);
    }));

  it('gives times that no Date can be as the ends of those that it can', () =>
    withRows(async () => {
      await database.sql`
        insert into jobs (kind, run_at) values ('ping', 'infinity'), ('ping', '-infinity')`;
      const found = await enqueued(database.db, queue, 'ping');
      expect(found.map(({ runAt }) => runAt.toISOString())).toEqual([
        '9999-12-31T23:59:59.999Z',
        '0001-01-01T00:00:00.000Z',
      ]);
    }));

  it.each<[what: string, given: () => readonly unknown[], code: string]>([
    ['no database', () => [undefined, queue, 'greet'], 'INVALID_EXECUTOR'],
    ['no queue', () => [database.db, {}, 'greet'], 'INVALID_OPTION'],
    ['an unknown kind', () => [database.db, queue, 'great'], 'UNKNOWN_KIND'],
    ['what JSON cannot carry', () => [database.db, queue, 'greet', { n: 1n }], 'INVALID_PAYLOAD'],
  ])('checks what it is given: %s', async (_what, args, code) => {
    await expect(Reflect.apply(enqueued, undefined, args())).rejects.toMatchObject({ code });
  });
});

describe('rows of other releases', () => {
  const registry = defineJobs({
    welcome: job<{ to: { name: string } }>({ version: 2 })
      .alias('greet')
      .upgradeFrom<{ n: number }>(1, ({ n }) => ({ to: { name: `number ${n}` } })),
  });
  const renamed = createQueue(registry);

  it('count, by an alias too, and match as their handlers would be given them', () =>
    withRows(async () => {
      await renamed.enqueue(database.db, 'welcome', { to: { name: 'ada' } });
      const all = await enqueued(database.db, renamed, 'welcome');
      expect(all.map(({ kind, payload }) => ({ kind, payload }))).toEqual([
        { kind: 'welcome', payload: { to: { name: 'number 1' } } },
        { kind: 'welcome', payload: { to: { name: 'ada' } } },
      ]);
      expect(all[0]).not.toHaveProperty('payloadVersion');
      const old = await assertEnqueued(database.db, renamed, 'welcome', { to: { name: 'number 1' } });
      expect(old.id).toBe(all[0]?.id);
      const byFunction = await enqueued(database.db, renamed, 'welcome', ({ to }) => to.name === 'number 1');
      expect(byFunction).toEqual([all[0]]);
      await expect(
        assertEnqueued(database.db, renamed, 'welcome', { to: { name: 'number 2' } }),
      ).rejects.toThrow('Of this kind wait: {"to":{"name":"number 1"}}, {"to":{"name":"ada"}}.');
    }));

  it('that cannot be upgraded say so', () =>
    withRows(async () => {
      await database.sql`update jobs set payload_version = 3`;
      await expect(enqueued(database.db, renamed, 'welcome')).rejects.toMatchObject({
        code: 'PAYLOAD_NOT_UPGRADED',
        data: { version: 3, newest: 2 },
      });
    }));
});

describe('assertEnqueued', () => {
  it('says what waits instead', () =>
    withRows(async () => {
      const miss = (match: { n: number } | undefined, kind: 'greet' | 'ping' = 'greet') =>
        Reflect.apply(assertEnqueued, undefined, [database.db, queue, kind, match]);
      await expect(miss({ n: 2 })).rejects.toMatchObject({
        code: 'NOT_ENQUEUED',
        message: 'No job of "greet" with {"n":2} waits. Of this kind wait: {"n":1}.',
        data: { kind: 'greet', waiting: 1 },
      });
      await expect(miss(undefined, 'ping')).rejects.toMatchObject({
        message: 'No job of "ping" waits. There wait 1 of "greet".',
      });
      await database.sql`truncate jobs`;
      await expect(miss(undefined, 'ping')).rejects.toMatchObject({
        message: 'No job of "ping" waits. Nothing waits.',
      });
    }));
});

describe('advance', () => {
  it('moves every time of every row, and nothing else', () =>
    withRows(async () => {
      const times = () => database.sql`
        select id, state, attempts, extract(epoch from run_at)::float8 as run, extract(epoch from created_at)::float8 as created,
               extract(epoch from started_at)::float8 as started, extract(epoch from heartbeat_at)::float8 as beat,
               extract(epoch from finished_at)::float8 as finished
        from   jobs order by id`;
      const before = await times();
      const after = await rolledBack(database.db, async (tx) => {
        expect(await advance(tx, queue, 90_500)).toBe(4);
        return tx.execute<
          Record<string, unknown>
        >(`select id, state, attempts, extract(epoch from run_at)::float8 as run,
          extract(epoch from created_at)::float8 as created, extract(epoch from started_at)::float8 as started,
          extract(epoch from heartbeat_at)::float8 as beat, extract(epoch from finished_at)::float8 as finished
          from jobs order by id`);
      });
      const moved = (at: unknown) => (at === null ? null : expect.closeTo(Number(at) - 90.5, 3));
      expect([...after]).toEqual(
        before.map(({ run, created, started, beat, finished, ...rest }) => ({
          ...rest,
          run: moved(run),
          created: moved(created),
          started: moved(started),
          beat: moved(beat),
          finished: moved(finished),
        })),
      );
      expect([...(await times())]).toEqual([...before]);
    }));

  it.each([-1, 0.5, Number.NaN, 1e15])('refuses %s ms', async (ms) => {
    await expect(advance(database.db, queue, ms)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});
