/**
 * The fence: a run whose job has another claim by now changes nothing, whoever has it and whatever its attempt number.
 */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ClaimedJob, claim } from '../../src/sql/claim.js';
import { completeIn } from '../../src/sql/complete.js';
import { heartbeat } from '../../src/sql/heartbeat.js';
import { releaseClaims } from '../../src/sql/release-claims.js';
import { rescue } from '../../src/sql/rescue.js';
import type { Outcome } from '../../src/words/outcome.js';
import { useDatabase } from '../support/database.js';
import { finish } from '../support/finish.js';
import { given, row, table, untilServerHasRunFor, verbatim } from '../support/jobs.js';

const database = useDatabase();
let claims = 0;

beforeAll(() => untilServerHasRunFor(database.sql, 1.5));
beforeEach(() => database.sql`truncate jobs`);

/** Claims the one job there is, at once if it waits for a retry, as the worker's next claim. */
async function take(worker = 'worker'): Promise<ClaimedJob> {
  await database.sql`update jobs set run_at = now() where state = 'available'`;
  const request = { want: new Map([['default', 1]]), kinds: ['greet'], lockedBy: `${worker}/${++claims}` };
  const [job] = (await claim(database.db, table, request)).jobs;
  if (!job) throw new Error('There is nothing to claim.');
  return job;
}

/** The worker of this job is taken for dead. */
async function loseToRescue(job: ClaimedJob): Promise<void> {
  await database.sql`update jobs set heartbeat_at = now() - interval '1 h' where id = ${job.id}`;
  expect(await rescue(database.db, table)).toMatchObject([{ id: job.id, lockedBy: job.lockedBy }]);
}

/** What a person does with a discarded job. */
async function replay({ id }: ClaimedJob): Promise<void> {
  await database.sql`
    update jobs set state = 'available', attempts = 0, finished_at = null where id = ${id} and state = 'discarded'`;
}

const outcomes: readonly Outcome[] = [
  { move: 'complete' },
  { move: 'fail', error: 'late', delayMs: 0 },
  { move: 'discard', error: 'late' },
  { move: 'snooze', when: { delayMs: 0 } },
  { move: 'release', started: true },
  { move: 'release', started: false },
];

async function expectWithoutEffect({ id, lockedBy }: ClaimedJob): Promise<void> {
  const before = await verbatim(database.sql, id);
  for (const outcome of outcomes) {
    expect(await finish(database.db, table, [{ id, lockedBy, outcome }])).toMatchObject([{ result: 'lost' }]);
  }
  expect(await heartbeat(database.db, table, [{ id, lockedBy }])).toMatchObject([{ pulse: 'lost' }]);
  expect(await releaseClaims(database.db, table, [lockedBy])).toEqual([]);
  await database.db.transaction(async (tx) => {
    expect(await completeIn(tx, table, { id, lockedBy })).toBe(false);
  });
  expect(await verbatim(database.sql, id)).toBe(before);
}

describe('a run that lost its job is without effect', () => {
  it('when the job waits for its next attempt', async () => {
    await given(database.sql).available({ timeoutS: 1 });
    const late = await take();
    await loseToRescue(late);
    await expectWithoutEffect(late);
  });

  it('when another worker has it', async () => {
    await given(database.sql).available({ timeoutS: 1 });
    const late = await take();
    await loseToRescue(late);
    const current = await take('other');
    await expectWithoutEffect(late);
    expect(await row(database.sql, late.id)).toMatchObject({ lockedBy: current.lockedBy, attempts: 2 });
  });

  it('when the same worker has it again', async () => {
    await given(database.sql).available({ timeoutS: 1 });
    const late = await take();
    await loseToRescue(late);
    await take();
    await expectWithoutEffect(late);
  });

  it('when the same worker has it again with the same attempt number, after a replay', async () => {
    await given(database.sql).available({ timeoutS: 1, maxAttempts: 1 });
    const late = await take();
    await loseToRescue(late);
    await replay(late);
    const current = await take();
    expect(current).toMatchObject({ id: late.id, attempt: late.attempt });
    await expectWithoutEffect(late);
  });

  it('when a person cancelled it', async () => {
    await given(database.sql).available();
    const late = await take();
    await database.sql`
      update jobs set state = 'cancelled', finished_at = now(), locked_by = null, heartbeat_at = null, started_at = null`;
    await expectWithoutEffect(late);
  });
});

describe('a finish whose answer was lost', () => {
  it.each<Outcome>([
    { move: 'snooze', when: { delayMs: 0 } },
    { move: 'release', started: false },
    { move: 'release', started: true },
    { move: 'fail', error: 'no luck', delayMs: 0 },
  ])('$move does not hit the next run when it is repeated', async (outcome) => {
    await given(database.sql).available();
    const first = await take();
    const send = () => finish(database.db, table, [{ ...first, outcome }]);
    expect(await send()).toMatchObject([{ result: 'done', state: 'available' }]);
    await take();
    const before = await verbatim(database.sql, first.id);

    expect(await send()).toMatchObject([{ result: 'lost' }]);

    expect(await verbatim(database.sql, first.id)).toBe(before);
  });

  it('is gone when it was a complete', async () => {
    await given(database.sql).available();
    const first = await take();
    const send = () => finish(database.db, table, [{ ...first, outcome: { move: 'complete' } }]);
    expect(await send()).toMatchObject([{ result: 'done' }]);
    expect(await send()).toMatchObject([{ result: 'gone' }]);
  });
});

describe('a claim whose answer was lost', () => {
  it('is not kept alive by the heartbeats of that worker’s other jobs, and is rescued', async () => {
    await given(database.sql).available({ timeoutS: 1 });
    const known = await take();
    await given(database.sql).available({ timeoutS: 1 });
    const orphan = await take(); // the worker never hears of this one
    await database.sql`update jobs set heartbeat_at = now() - interval '1 h'`;

    await heartbeat(database.db, table, [known]);

    expect(await rescue(database.db, table)).toMatchObject([{ id: orphan.id }]);
    expect(await row(database.sql, known.id)).toMatchObject({ state: 'running', lockedBy: known.lockedBy });
  });

  it('is given back by its name, as if it had not been, and nothing else is', async () => {
    await given(database.sql).available();
    const known = await take();
    const id = await given(database.sql).available();
    await database.sql`update jobs set run_at = now() where id = ${id}`;
    const before = await row(database.sql, id);
    const orphan = await take();

    expect(await releaseClaims(database.db, table, [orphan.lockedBy])).toEqual([id]);

    expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: before?.attempts });
    expect(await row(database.sql, known.id)).toMatchObject({ state: 'running', lockedBy: known.lockedBy });
  });
});
