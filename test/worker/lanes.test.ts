/** When a worker looks into each of its queues again. */
import { expect, it } from 'vitest';
import { createBatchSize } from '../../src/worker/batch-size.js';
import { beginInTurns } from '../../src/worker/begin.js';
import { createLanes } from '../../src/worker/lanes.js';

const room = new Map([
  ['mail', 2],
  ['default', 5],
]);

it('every queue with room is due at first', () => {
  expect(createLanes(room.keys(), 1_000).due(room)).toEqual(room);
});

it('a queue that gave all is due at once, one that came back short is not', () => {
  const lanes = createLanes(room.keys(), 1_000);
  lanes.looked('mail', { some: true, full: true, whole: true, tookMs: 1 });
  lanes.looked('default', { some: true, full: false, whole: true, tookMs: 1 });
  expect([...lanes.due(room).keys()]).toEqual(['mail']);
  expect(lanes.isDue('default')).toBe(false);
  expect(lanes.untilDue(new Map([['default', 1]]))).toBeGreaterThan(5);
});

it('a queue of which only a part was looked at is due at once, also when that part gave little and took long', () => {
  const lanes = createLanes(room.keys(), 1_000);
  lanes.looked('mail', { some: false, full: false, whole: false, tookMs: 500 });
  expect(lanes.isDue('mail')).toBe(true);
  lanes.looked('mail', { some: false, full: false, whole: true, tookMs: 1 });
  expect(lanes.isDue('mail')).toBe(false);
});

it('the pause doubles up to the poll interval, and begins again after a job', () => {
  const lanes = createLanes(['mail'], 100);
  const pauseAfter = (found: number) => {
    lanes.looked('mail', { some: found > 0, full: found >= 2, whole: true, tookMs: 0 });
    return Math.round(lanes.untilDue(new Map([['mail', 1]])) / 10) * 10;
  };
  expect([0, 0, 0, 0, 0, 0].map(pauseAfter)).toEqual([10, 20, 40, 80, 100, 100]);
  expect(pauseAfter(1)).toBe(10);
});

it('a costly look gets a tenth of the time, but a look of seconds does not put the queue to sleep', () => {
  const lanes = createLanes(['mail'], 100);
  const pauseAfter = (tookMs: number) => {
    lanes.looked('mail', { some: false, full: false, whole: true, tookMs });
    return lanes.untilDue(new Map([['mail', 1]]));
  };
  expect(pauseAfter(10)).toBeGreaterThan(80);
  expect(lanes.isDue('mail')).toBe(false);
  lanes.looked('mail', { some: false, full: false, whole: true, tookMs: 60_000 });
  // untilDue never sleeps longer than the poll interval, after which the queue is asked for again.
  expect(pauseAfter(60_000)).toBeLessThanOrEqual(100);
});

it('statements get smaller after those that took too long, and larger again', () => {
  const size = createBatchSize(500);
  size.failed({ code: '57014' });
  size.failed({ code: '57014' });
  expect(size.now()).toBe(125);
  size.failed({ code: '08006' });
  expect(size.now()).toBe(125);
  for (let n = 0; n < 20; n++) size.failed({ code: '57014' });
  expect(size.now()).toBe(1);
  for (let n = 0; n < 20; n++) size.succeeded();
  expect(size.now()).toBe(500);
});

it('the event loop gets its turns while a large claim begins', async () => {
  let turns = 0;
  const count = setInterval(() => turns++, 1);
  const begun: number[] = [];
  await beginInTurns([1, 2, 3, 4, 5], (n) => {
    begun.push(n);
    for (const until = performance.now() + 15; performance.now() < until; );
  });
  clearInterval(count);
  expect(begun).toEqual([1, 2, 3, 4, 5]);
  expect(turns).toBeGreaterThanOrEqual(3);
});
