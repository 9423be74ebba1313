/** Which statement writes which ends. */
import { expect, it } from 'vitest';
import { completeMany } from '../../src/sql/complete-many.js';
import type { Outcome } from '../../src/words/outcome.js';
import { type End, writesOf } from '../../src/worker/writes.js';

const endOf = (id: number, outcome: Outcome): End => ({ id, lockedBy: 'worker/1', outcome });
const goes: Outcome = { move: 'complete' };
const fails: Outcome = { move: 'fail', error: 'no luck', delayMs: 0 };
const keeps = (result: string | undefined): Outcome => ({ move: 'complete', kept: { result } });
const idsOf = (batch: readonly End[]) => writesOf(batch).map(({ ends }) => ends.map(({ id }) => id));

it('one for each way to end, each in the order of the ends', () => {
  const batch = [fails, goes, keeps('1'), goes, keeps(undefined), fails].map((outcome, id) =>
    endOf(id, outcome),
  );
  expect(idsOf(batch)).toEqual([
    [1, 3],
    [2, 4],
    [0, 5],
  ]);
});

it('none for what is not there; jobs that go have the statement of their own', () => {
  expect(writesOf([])).toEqual([]);
  expect(writesOf([endOf(1, goes)])).toEqual([{ ends: [endOf(1, goes)], send: completeMany }]);
  expect(idsOf([endOf(1, fails)])).toEqual([[1]]);
});

it('several for results that are long together, and one alone for one that is too long', () => {
  const long = keeps('x'.repeat(6_000_000));
  const longest = keeps('x'.repeat(20_000_000));
  const short = keeps('1');
  const batch = [short, long, long, long, longest, short, short].map((outcome, id) => endOf(id, outcome));
  expect(idsOf(batch)).toEqual([[0, 1, 2], [3], [4], [5, 6]]);
});
