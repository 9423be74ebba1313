/** What a person's moves answer and leave behind, also in the caller's transaction and while a worker runs the job. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { createQueue } from '../../src/index.js';
import { until } from '../support/until.js';
import { queue, registry } from './app.js';
import { claimGreet, greet } from './jobs.js';
import type { UsedDriver } from './stage.js';
import { withWorker } from './worker-stage.js';

const strict = createQueue(registry, { requireTransaction: true });

export function moveTests(used: UsedDriver): void {
  const states = async () =>
    (await used.read(sql`select state from jobs order by id`)).map((row) => row['state']);

  /** Jobs 1 to 5: available, running, completed, discarded, cancelled; each has failed before. */
  async function oneOfEach(): Promise<void> {
    await greet(used, 5);
    await used.read(sql`
      update jobs
      set    attempts    = 3,
             last_error  = 'no luck',
             state       = (array['available', 'running', 'completed', 'discarded', 'cancelled'])[id::int],
             finished_at = case when id > 2 then now() end,
             locked_by   = case when id = 2 then 'worker/1' end,
             heartbeat_at = case when id = 2 then now() end,
             started_at  = case when id = 2 then now() end`);
  }
  const ids = [6, 5, 4, 3, 2, 1, 1];

  it('cancel', async () => {
    await oneOfEach();
    expect(await queue.cancel(used.db, ids)).toEqual([
      { id: 6, result: 'gone', state: null },
      { id: 5, result: 'refused', state: 'cancelled' },
      { id: 4, result: 'refused', state: 'discarded' },
      { id: 3, result: 'refused', state: 'completed' },
      { id: 2, result: 'done', state: 'cancelled' },
      { id: 1, result: 'done', state: 'cancelled' },
      { id: 1, result: 'done', state: 'cancelled' },
    ]);
    expect(
      await used.read(sql`
        select distinct attempts, locked_by, heartbeat_at, started_at, finished_at is null as open from jobs where id < 3`),
    ).toEqual([{ attempts: 3, locked_by: null, heartbeat_at: null, started_at: null, open: false }]);
  });

  it('replay', async () => {
    await oneOfEach();
    const answers = [
      { id: 6, result: 'gone', state: null },
      { id: 5, result: 'done', state: 'available' },
      { id: 4, result: 'done', state: 'available' },
      { id: 3, result: 'done', state: 'available' },
      { id: 2, result: 'refused', state: 'running' },
      { id: 1, result: 'refused', state: 'available' },
      { id: 1, result: 'refused', state: 'available' },
    ];
    const before = await used.read(sql`select job::text as job from jobs as job order by id`);
    expect(await queue.replay(used.db, ids, { preview: true })).toEqual(answers);
    expect(await used.read(sql`select job::text as job from jobs as job order by id`)).toEqual(before);
    expect(await used.db.transaction((tx) => queue.replay(tx, ids))).toEqual(answers);
    expect(
      await used.read(sql`
        select distinct attempts, last_error, finished_at, run_at <= now() as due from jobs where id > 2`),
    ).toEqual([{ attempts: 0, last_error: 'no luck', finished_at: null, due: true }]);
  });

  it('replay by what is said of the jobs', async () => {
    await oneOfEach();
    await used.read(sql`update jobs set finished_at = '2020-01-01T00:00:00Z' where id = 4`);
    const find = (filter: Parameters<typeof queue.replay>[1]) =>
      queue.replay(used.db, filter, { preview: true });
    const found = async (filter: Exclude<Parameters<typeof queue.replay>[1], number>) =>
      [await find(filter)].flat().map(({ id }) => id);
    expect(await found({})).toEqual([4]);
    expect(await found({ state: 'cancelled' })).toEqual([5]);
    expect(await found({ kind: 'task' })).toEqual([]);
    expect(await found({ kind: 'greet', queue: 'default', errorMatches: 'o l' })).toEqual([4]);
    expect(await found({ errorMatches: 'o%l' })).toEqual([]);
    expect(await found({ finishedBefore: new Date('2020-01-02') })).toEqual([4]);
    expect(await found({ finishedAfter: '2020-01-01T00:00:00Z' })).toEqual([]);
    expect(await queue.replay(used.db, { kind: 'greet' })).toEqual([
      { id: 4, result: 'done', state: 'available' },
    ]);
    expect(await states()).toEqual(['available', 'running', 'completed', 'available', 'cancelled']);
  });

  it('replay skips what would be a second unfinished job of its key, in a transaction that goes on', async () => {
    await greet(used, 5);
    await used.read(sql`
      update jobs
      set    dedupe_key = case when id < 3 then 'a' when id < 5 then 'b' end,
             state = 'discarded', finished_at = '2020-01-01T00:00:00Z'
      where  id > 1`);
    await used.read(sql`update jobs set dedupe_key = 'a' where id = 1`);
    const expected = [
      { id: 2, result: 'duplicate', state: 'discarded' },
      { id: 3, result: 'done', state: 'available' },
      { id: 4, result: 'duplicate', state: 'discarded' },
      { id: 5, result: 'done', state: 'available' },
    ];
    expect(await queue.replay(used.db, [2, 3, 4, 5], { preview: true })).toEqual(expected);
    await used.db.transaction(async (tx) => {
      expect(await queue.replay(tx, [2, 3, 4, 5])).toEqual(expected);
      await queue.enqueue(tx, 'greet', null);
    });
    expect(await states()).toEqual([
      'available',
      'discarded',
      'available',
      'discarded',
      'available',
      'available',
    ]);
  });

  it('reschedule and runNow', async () => {
    await oneOfEach();
    const due = async () => {
      const [found] = await used.read(sql`
        select case when run_at = '2999-01-01T00:00:00Z' then 'at the instant'
                    else round(extract(epoch from run_at - clock_timestamp()) / 20)::int::text end as due
        from   jobs where id = 1`);
      return found?.['due'];
    };
    const done = { id: 1, result: 'done', state: 'available' };
    expect(await queue.reschedule(used.db, 1, { delayMs: 100_000 })).toEqual(done);
    expect(await due()).toBe('5');
    expect(await queue.runNow(used.db, 1)).toEqual(done);
    expect(await due()).toBe('0');
    expect(await queue.reschedule(used.db, 1, { runAt: new Date('2999-01-01') })).toEqual(done);
    expect(await due()).toBe('at the instant');
    expect(await queue.runNow(used.db, 2)).toEqual({ id: 2, result: 'refused', state: 'running' });
    expect(await queue.reschedule(used.db, 4, { delayMs: 0 })).toEqual({
      id: 4,
      result: 'refused',
      state: 'discarded',
    });
    expect(await queue.runNow(used.db, 6)).toEqual({ id: 6, result: 'gone', state: null });
  });

  it('update', async () => {
    await oneOfEach();
    const payload = { it: 'isn\'t \\ {😀} "', list: [1, null] };
    expect(await queue.update(used.db, 'greet', 1, payload)).toEqual({
      id: 1,
      result: 'done',
      state: 'available',
    });
    expect(await queue.update(used.db, 'spare', 1)).toEqual({
      id: 1,
      result: 'refused',
      state: 'available',
    });
    expect(await queue.update(used.db, 'greet', 2, payload)).toEqual({
      id: 2,
      result: 'refused',
      state: 'running',
    });
    expect(await queue.update(used.db, 'greet', 6, payload)).toEqual({ id: 6, result: 'gone', state: null });
    await expect(queue.update(used.db, 'greet', 1, 'NUL \0')).rejects.toMatchObject({
      code: 'INVALID_PAYLOAD',
    });
    expect(await used.read(sql`select id::int as id, payload from jobs where id < 3 order by id`)).toEqual([
      { id: 1, payload },
      { id: 2, payload: {} },
    ]);
  });

  it('remove', async () => {
    await oneOfEach();
    const gone = [1, 2, 3, 4, 5].map((id) => ({ id, result: 'done', state: null }));
    expect(await queue.remove(used.db, [1, 2, 3, 4, 5, 6])).toEqual([
      ...gone,
      { id: 6, result: 'gone', state: null },
    ]);
    expect(await queue.remove(used.db, 1)).toEqual({ id: 1, result: 'gone', state: null });
    expect(await states()).toEqual([]);
  });

  it('more than one statement takes, all or nothing, and a list without ids', async () => {
    const all = await greet(used, 2_500);
    await used.read(
      sql`alter table jobs add constraint not_the_last check (id <> 2500 or state <> 'cancelled')`,
    );
    try {
      await expect(queue.cancel(used.db, all)).rejects.toThrow();
      expect(new Set(await states())).toEqual(new Set(['available']));
    } finally {
      await used.read(sql`alter table jobs drop constraint not_the_last`);
    }
    const answers = await queue.cancel(used.db, [...all].reverse());
    expect(answers.map(({ id }) => id)).toEqual([...all].reverse());
    expect(new Set(answers.map(({ result }) => result))).toEqual(new Set(['done']));
    expect(new Set(await states())).toEqual(new Set(['cancelled']));
    // Two of one key in two statements: the preview says what it then does.
    await used.read(sql`update jobs set dedupe_key = 'both' where id in (1, 2500)`);
    const preview = await queue.replay(used.db, all, { preview: true });
    expect(preview.at(-1)).toEqual({ id: 2_500, result: 'duplicate', state: 'cancelled' });
    expect(await queue.replay(used.db, all)).toEqual(preview);
    expect([await queue.cancel(used.db, []), await queue.replay(used.db, [], { preview: true })]).toEqual([
      [],
      [],
    ]);
  });

  it('in the caller’s transaction, and beside it not where a transaction is required', async () => {
    await greet(used, 1);
    await expect(Reflect.apply(strict.cancel, undefined, [used.db, 1])).rejects.toMatchObject({
      code: 'TRANSACTION_REQUIRED',
    });
    const undone = used.db.transaction(async (tx) => {
      expect(await strict.cancel(tx, 1)).toEqual({ id: 1, result: 'done', state: 'cancelled' });
      tx.rollback();
    });
    await expect(undone).rejects.toThrow();
    expect(await states()).toEqual(['available']);
  });

  it.each(['cancel', 'remove'] as const)(
    '%s aborts the handler that runs the job, and its end changes nothing',
    async (move) => {
      const { id } = await queue.enqueue(used.db, 'task', { does: 'end' });
      let aborted = false;
      const seen = await withWorker(
        used,
        (_, job) =>
          new Promise((resolve) => {
            job.signal.addEventListener('abort', () => {
              aborted = true;
              resolve();
            });
          }),
        async (seen) => {
          await until(() => seen.claimed, { what: 'the claim' });
          expect(await queue[move](used.db, id)).toMatchObject({ id, result: 'done' });
          await until(() => aborted && seen.lost, { what: 'the signal' });
        },
      );
      expect(seen).toMatchObject({ lost: [{ job: { id } }] });
      expect([seen.completed, seen.failed, seen.error]).toEqual([undefined, undefined, undefined]);
      expect(await states()).toEqual(move === 'cancel' ? ['cancelled'] : []);
    },
  );

  it('a replayed job runs again in a worker that sleeps, from its first attempt', async () => {
    const { id } = await queue.enqueue(used.db, 'task', { does: 'end' });
    await queue.cancel(used.db, id);
    const seen = await withWorker(
      used,
      () => {},
      async (seen) => {
        await queue.replay(used.db, id);
        await until(() => seen.completed, { what: 'the run' });
      },
    );
    expect(seen.completed).toEqual([
      expect.objectContaining({ job: expect.objectContaining({ id, attempt: 1 }) }),
    ]);
  });

  it('a late end of a run before a replay changes nothing of the next', async () => {
    await greet(used, 1);
    const [job] = await claimGreet(used, 1, 'worker/1');
    await queue.cancel(used.db, job?.id ?? 0);
    await queue.replay(used.db, job?.id ?? 0);
    await claimGreet(used, 1, 'worker/2');
    await expect(queue.update(used.db, 'greet', 1, null)).resolves.toMatchObject({ result: 'refused' });
    expect(await used.read(sql`select state, attempts, locked_by from jobs`)).toEqual([
      { state: 'running', attempts: 1, locked_by: 'worker/2' },
    ]);
  });
}
