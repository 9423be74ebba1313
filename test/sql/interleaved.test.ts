/**
 * What happens between a statement's look at a row and its lock on it, by force: the statements run on a view of the
 * table that stops them at every row until the test lets them go on.
 */
import { sql as raw } from 'drizzle-orm';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { claim } from '../../src/sql/claim.js';
import { heartbeat } from '../../src/sql/heartbeat.js';
import { releaseClaims } from '../../src/sql/release-claims.js';
import { rescue } from '../../src/sql/rescue.js';
import { useDatabase } from '../support/database.js';
import { finish } from '../support/finish.js';
import { given, row, table, untilServerHasRunFor, verbatim } from '../support/jobs.js';
import { until } from '../support/until.js';

const database = useDatabase();
const pausing = raw`public.pausing_jobs`;
const gate = 4711;

beforeAll(async () => {
  await database.sql.unsafe(`
    create function gate_is_open() returns boolean language plpgsql volatile as $$
    begin
      perform pg_advisory_lock_shared(${gate});
      perform pg_advisory_unlock_shared(${gate});
      return true;
    end $$;
    create view pausing_jobs as select * from jobs where gate_is_open()`);
  await untilServerHasRunFor(database.sql, 1.5);
});
beforeEach(() => database.sql`truncate jobs`);

/** Starts the statement, does `meanwhile` when it has taken its snapshot and stands before a row, and gives its answer. */
async function interleaved<Answer>(
  statement: () => Promise<Answer>,
  meanwhile: () => Promise<unknown>,
): Promise<Answer> {
  const keeper = await database.sql.reserve();
  try {
    await keeper`select pg_advisory_lock(${gate})`;
    const answer = statement();
    await until(
      async () => {
        const waiting = await database.sql`
          select 1 from pg_locks where locktype = 'advisory' and objid = ${gate} and not granted`;
        return waiting.length > 0;
      },
      { what: 'the statement to stand at the gate' },
    );
    await meanwhile();
    await keeper`select pg_advisory_unlock(${gate})`;
    return await answer;
  } finally {
    await keeper`select pg_advisory_unlock_all()`;
    keeper.release();
  }
}

const lockedBy = 'worker/1';
const dead = { timeoutS: 1, heartbeatAgoS: 3_600, lockedBy };

/** The job is rescued and claimed by another worker. */
async function moveOn(id: number): Promise<void> {
  await database.sql`
    update jobs set locked_by = 'other/1', heartbeat_at = clock_timestamp(), attempts = attempts + 1 where id = ${id}`;
}

it('a heartbeat that commits meanwhile protects the job from a rescue', async () => {
  const id = await given(database.sql).running(dead);
  const rescued = await interleaved(
    () => rescue(database.db, pausing),
    () => heartbeat(database.db, table, [{ id, lockedBy }]),
  );
  expect(rescued).toEqual([]);
  expect(await row(database.sql, id)).toMatchObject({ state: 'running', lockedBy });
});

it('a heartbeat that is rolled back meanwhile does not', async () => {
  const id = await given(database.sql).running(dead);
  const rescued = await interleaved(
    () => rescue(database.db, pausing),
    () =>
      database.db
        .transaction(async (tx) => {
          await heartbeat(tx, table, [{ id, lockedBy }]);
          tx.rollback();
        })
        .catch(() => {}),
  );
  expect(rescued).toMatchObject([{ id }]);
});

it('a finish changes nothing when the job got another claim meanwhile', async () => {
  const id = await given(database.sql).running({ lockedBy });
  let moved: string | undefined;
  const answers = await interleaved(
    () => finish(database.db, pausing, [{ id, lockedBy, outcome: { move: 'complete' } }]),
    async () => {
      await moveOn(id);
      moved = await verbatim(database.sql, id);
    },
  );
  // Not done; that it is lost, the next one sees.
  expect(answers).toMatchObject([{ result: 'busy' }]);
  expect(await verbatim(database.sql, id)).toBe(moved);
  const again = await finish(database.db, table, [{ id, lockedBy, outcome: { move: 'complete' } }]);
  expect(again).toMatchObject([{ result: 'lost' }]);
});

it('a finish is written when only a heartbeat came meanwhile', async () => {
  const id = await given(database.sql).running({ lockedBy });
  const answers = await interleaved(
    () => finish(database.db, pausing, [{ id, lockedBy, outcome: { move: 'discard', error: 'pointless' } }]),
    () => heartbeat(database.db, table, [{ id, lockedBy }]),
  );
  expect(answers).toMatchObject([{ result: 'done', state: 'discarded' }]);
  expect(await row(database.sql, id)).toMatchObject({ state: 'discarded', lockedBy: null });
});

it('a heartbeat does not renew a job that got another claim meanwhile', async () => {
  const id = await given(database.sql).running({ lockedBy });
  let moved: string | undefined;
  const pulses = await interleaved(
    () => heartbeat(database.db, pausing, [{ id, lockedBy }]),
    async () => {
      await moveOn(id);
      moved = await verbatim(database.sql, id);
    },
  );
  expect(pulses).toMatchObject([{ pulse: 'busy' }]);
  expect(await verbatim(database.sql, id)).toBe(moved);
});

it('a release gives back nothing that got another claim meanwhile', async () => {
  const id = await given(database.sql).running({ lockedBy });
  const released = await interleaved(
    () => releaseClaims(database.db, pausing, [lockedBy]),
    () => moveOn(id),
  );
  expect(released).toEqual([]);
  expect(await row(database.sql, id)).toMatchObject({ state: 'running', lockedBy: 'other/1' });
});

const request = { want: new Map([['default', 5]]), kinds: ['greet'] };

it('a claim takes nothing that another claim took meanwhile', async () => {
  const id = await given(database.sql).available();
  const claimed = await interleaved(
    () => claim(database.db, pausing, { ...request, lockedBy }),
    () => claim(database.db, table, { ...request, lockedBy: 'other/1' }),
  );
  expect(claimed).toMatchObject({ jobs: [], refused: [] });
  expect(await row(database.sql, id)).toMatchObject({ lockedBy: 'other/1', attempts: 1 });
});

it('a claim takes nothing that was put off meanwhile', async () => {
  const id = await given(database.sql).available();
  const claimed = await interleaved(
    () => claim(database.db, pausing, { ...request, lockedBy }),
    () => database.sql`update jobs set run_at = now() + interval '1 h'`,
  );
  expect(claimed).toMatchObject({ jobs: [], refused: [] });
  expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 0 });
});
