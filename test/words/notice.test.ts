/** What is told through NOTIFY reads the same on the other side, and what anybody else says is passed over. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Notice, noticeOf, noticeText, workNotice } from '../../src/words/notice.js';

const id = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const notices = fc.oneof(
  fc.record({
    type: fc.constant('work' as const),
    queue: fc.string({ minLength: 1, maxLength: 128, unit: 'binary' }).filter((text) => text.isWellFormed()),
    jobs: fc.nat(),
    seed: fc.nat(),
  }),
  fc.record({
    type: fc.constant('job' as const),
    id,
    queue: fc.constantFrom('mail', 'a b', '1 2 3', 'a\nb'),
    seed: fc.nat(),
  }),
  fc.record({
    type: fc.constant('later' as const),
    queue: fc.constantFrom('mail', 'a b', '1 2 3'),
    seed: fc.nat(),
  }),
  fc.record({ type: fc.constant('more' as const), to: fc.nat(), hops: fc.nat(), queue: fc.constant('a b') }),
  fc.record({ type: fc.constant('left' as const), key: fc.nat() }),
  fc.record({ type: fc.constant('changed' as const), ids: fc.array(id, { minLength: 1 }) }),
  fc.record({
    type: fc.constant('joined' as const),
    key: fc.nat(),
    queues: fc.array(fc.nat(), { maxLength: 16 }),
  }),
  fc.record({ type: fc.constant('pauses' as const) }),
);

it('every notice is read as it was written', () => {
  fc.assert(
    fc.property(notices, (notice: Notice) => {
      expect(noticeOf(noticeText(notice))).toEqual({ ...notice });
    }),
  );
});

it.each([
  '',
  'work',
  'work 1 2',
  'work 1 2 ',
  'work -1 2 mail',
  'work 1e3 2 mail',
  'work 99999999999999999999 2 mail',
  'later 1',
  'more 1 mail',
  'left',
  'left x',
  'later x mail',
  'changed',
  'changed 1,2',
  'changed 1 x',
  'joined',
  'joined a b',
  'cancelled 7',
  'WORK 1 2 mail',
])('passed over: %j', (text) => {
  expect(noticeOf(text)).toBeUndefined();
});

it('no text of anybody’s fails it', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void noticeOf(text)));
});

it('two wake-ups of a queue differ, or Postgres would deliver one of them', () => {
  const texts = new Set(Array.from({ length: 20 }, () => noticeText(workNotice('mail', 1))));
  expect(texts.size).toBeGreaterThan(10);
});

it('the longest fits a notification of Postgres', () => {
  const text = noticeText({ type: 'work', queue: '\u{1F600}'.repeat(128), jobs: 1e14, seed: 1e14 });
  expect(Buffer.byteLength(text)).toBeLessThan(8_000);
});
