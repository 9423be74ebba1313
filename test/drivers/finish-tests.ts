/** What every way to finish answers, and the row that it leaves. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import type { Outcome } from '../../src/words/outcome.js';
import { finish } from '../support/finish.js';
import { byClaim, table } from './app.js';
import { claimGreet, greet } from './jobs.js';
import type { UsedDriver } from './stage.js';

/** What is left of a job; `due` is in steps of 20 s from now. */
interface Left {
  readonly state: string;
  readonly attempts: number;
  readonly last_error: unknown;
  readonly errors: readonly unknown[];
  readonly due: number;
  readonly finished: boolean;
}

/** The row of a job that failed at its first attempt. */
const failed: Left = {
  state: 'available',
  attempts: 1,
  last_error: expect.stringContaining('no "luck" \\ {😀}'),
  errors: [{ attempt: 1, at: expect.stringMatching(/^\d{4}-.*Z$/), error: 'Error: no "luck" \\ {😀}' }],
  due: 5,
  finished: false,
};
const unharmed: Left = {
  state: 'available',
  attempts: 0,
  last_error: null,
  errors: [],
  due: 0,
  finished: false,
};

const error = new Error('no "luck" \\ {😀}');
const outcomes: readonly [string, Outcome, Left | undefined, number?][] = [
  ['complete', { move: 'complete' }, undefined],
  ['fail', { move: 'fail', error, delayMs: 100_000 }, failed],
  ['fail at once', { move: 'fail', error, delayMs: 0 }, { ...failed, due: 0 }],
  ['fail with the usual backoff', { move: 'fail', error, delayMs: undefined }, { ...failed, due: 0 }],
  [
    'fail the last attempt',
    { move: 'fail', error, delayMs: 0 },
    { ...failed, state: 'discarded', due: 0, finished: true },
    1,
  ],
  ['discard', { move: 'discard', error }, { ...failed, state: 'discarded', due: 0, finished: true }],
  ['snooze for a time', { move: 'snooze', when: { delayMs: 100_000 } }, { ...unharmed, due: 5 }],
  [
    'snooze until',
    { move: 'snooze', when: { runAt: '2999-01-01T00:00:00.000Z' } },
    { ...unharmed, due: 1_000 },
  ],
  ['release what had not started', { move: 'release', started: false }, unharmed],
  [
    'release what had started',
    { move: 'release', started: true },
    { ...unharmed, attempts: 1, errors: [expect.objectContaining({ attempt: 1 })] },
  ],
];

export function finishTests(used: UsedDriver): void {
  it.each(outcomes)('%s', async (_name, outcome, row, maxAttempts = 3) => {
    await greet(used, 1);
    await used.read(sql`update jobs set max_attempts = ${maxAttempts}`);
    await claimGreet(used, 1, 'worker/1');
    const answer = await finish(used.db, table, [
      { id: 1, lockedBy: 'worker/0', outcome },
      { id: 99, lockedBy: 'worker/1', outcome },
      { id: 1, lockedBy: 'worker/1', outcome },
    ]);
    expect(answer.sort(byClaim)).toEqual([
      expect.objectContaining({ id: 1, lockedBy: 'worker/0', result: 'lost' }),
      {
        id: 1,
        lockedBy: 'worker/1',
        result: 'done',
        state: row?.state ?? null,
        dueInMs: row ? expect.any(Number) : null,
        ...(row ? { queue: 'default' } : {}),
      },
      { id: 99, lockedBy: 'worker/1', result: 'gone', state: null, dueInMs: null },
    ]);
    const left = await used.read(sql`
      select state, attempts, last_error, errors, finished_at is not null as finished,
             least(round(extract(epoch from run_at - clock_timestamp()) / 20), 1000)::int as due
      from   jobs`);
    expect(left).toEqual(row ? [row] : []);
  });

  it('nothing', async () => {
    expect(await finish(used.db, table, [])).toEqual([]);
  });
}
