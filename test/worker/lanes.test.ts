/** When a worker looks into each of its queues again. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createBatchSize } from '../../src/worker/batch-size.js';
import { beginInTurns } from '../../src/worker/begin.js';
import { createLanes, type Lanes } from '../../src/worker/lanes.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const room = new Map([
  ['mail', 2],
  ['default', 5],
]);

it('every queue with room is due at first', () => {
  expect(createLanes(room.keys(), 1_000).due(room)).toEqual(room);
});

it('a queue that gave all is due at once, one that came back short is not', () => {
  const lanes = createLanes(room.keys(), 1_000);
  lanes.looked('mail', { found: 1, full: true, whole: true, tookMs: 1 });
  lanes.looked('default', { found: 1, full: false, whole: true, tookMs: 1 });
  expect([...lanes.due(room).keys()]).toEqual(['mail']);
  expect(lanes.isDue('default')).toBe(false);
  expect(lanes.untilDue(new Map([['default', 1]]))).toBeGreaterThan(2);
});

it('a queue of which only a part was looked at is due at once, also when that part gave little and took long', () => {
  const lanes = createLanes(room.keys(), 1_000);
  lanes.looked('mail', { found: 0, full: false, whole: false, tookMs: 500 });
  expect(lanes.isDue('mail')).toBe(true);
  lanes.looked('mail', { found: 0, full: false, whole: true, tookMs: 1 });
  expect(lanes.isDue('mail')).toBe(false);
});

it('the pause doubles up to the poll interval, and begins again after a job', () => {
  const lanes = createLanes(['mail'], 100);
  const pauseAfter = (found: number) => {
    lanes.looked('mail', { found, full: found >= 2, whole: true, tookMs: 0 });
    return Math.ceil(lanes.untilDue(new Map([['mail', 1]])) / 5) * 5;
  };
  expect(pauseAfter(0)).toBe(100); // there was nothing before either
  expect([1, 0, 0, 0, 0, 0, 0].map(pauseAfter)).toEqual([5, 10, 20, 40, 80, 100, 100]);
  expect(pauseAfter(1)).toBe(5);
});

it('costly looks get a tenth of the time, but looks of seconds do not put the queue to sleep', () => {
  const lanes = createLanes(['mail'], 100);
  const pauseAfter = (tookMs: number) => {
    lanes.looked('mail', { found: 0, full: false, whole: true, tookMs });
    return lanes.untilDue(new Map([['mail', 1]]));
  };
  lanes.looked('mail', { found: 1, full: false, whole: true, tookMs: 0 });
  expect(pauseAfter(10)).toBeLessThanOrEqual(10);
  expect(pauseAfter(20)).toBeLessThanOrEqual(20);
  expect(pauseAfter(20)).toBeGreaterThan(80);
  expect(lanes.isDue('mail')).toBe(false);
  lanes.looked('mail', { found: 0, full: false, whole: true, tookMs: 60_000 });
  // untilDue never sleeps longer than the poll interval, after which the queue is asked for again.
  expect(pauseAfter(60_000)).toBeLessThanOrEqual(100);
});

it('a queue that begins anew is due at once, however costly its looks were, and asks when the next job falls due', () => {
  const lanes = createLanes(room.keys(), 60_000);
  for (const queue of room.keys()) {
    for (let n = 0; n < 3; n++) lanes.looked(queue, { found: 0, full: false, whole: true, tookMs: 100 });
    lanes.wake(queue, 'work');
  }
  expect(lanes.due(room).size).toBe(0);
  lanes.beginAnew('mail');
  expect([...lanes.due(room).keys()]).toEqual(['mail']);
  expect(lanes.looking('mail')).toEqual({ due: true, keeps: false });
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
  vi.useRealTimers();
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

const short = { found: 0, full: false, whole: true, tookMs: 1 };

it('a wake-up ends the pause, and one that comes during a look has another follow', () => {
  const lanes = createLanes(['mail'], 60_000);
  lanes.looking('mail');
  lanes.looked('mail', short);
  expect(lanes.isDue('mail')).toBe(false);
  lanes.wake('mail', 'work');
  expect(lanes.isDue('mail')).toBe(true);
  lanes.looking('mail');
  lanes.wake('mail', 'work');
  lanes.looked('mail', short);
  expect(lanes.isDue('mail')).toBe(true);
  lanes.looking('mail');
  lanes.looked('mail', short);
  expect(lanes.isDue('mail')).toBe(false);
});

it('a wake-up does not end the pause after three costly looks', () => {
  const lanes = createLanes(['mail'], 60_000);
  lanes.looking('mail');
  lanes.looked('mail', { ...short, tookMs: 100 });
  lanes.wake('mail', 'work');
  expect(lanes.isDue('mail')).toBe(true); // one alone may have waited for the machine
  for (const tookMs of [110, 120]) {
    lanes.looking('mail');
    lanes.looked('mail', { ...short, tookMs });
  }
  lanes.wake('mail', 'work');
  expect(lanes.isDue('mail')).toBe(false);
  expect(lanes.untilDue(new Map([['mail', 1]]))).toBeGreaterThan(800);
});

it('a job that falls due ends the pause at its time, however many looks come before', () => {
  const lanes = createLanes(['mail'], 60_000);
  const wait = () => lanes.untilDue(new Map([['mail', 1]]));
  for (let n = 0; n < 20; n++) lanes.looked('mail', short);
  expect(wait()).toBeGreaterThan(50_000);
  lanes.dueIn('mail', 5_000);
  lanes.dueIn('mail', 9_000);
  lanes.looking('mail');
  lanes.looked('mail', short);
  expect(wait()).toBeGreaterThan(4_000);
  expect(wait()).toBeLessThanOrEqual(5_000);
  lanes.dueIn('mail', 0);
  expect(lanes.isDue('mail')).toBe(true);
  expect(lanes.looking('mail')).toEqual({ due: true, keeps: true });
  lanes.looked('mail', short);
  expect(wait()).toBeGreaterThan(50_000);
});

it('a queue rests after a look that found too little in the whole of it', () => {
  const lanes = createLanes(['mail'], 1_000);
  expect(lanes.isResting('mail')).toBe(false);
  lanes.looked('mail', short);
  expect(lanes.isResting('mail')).toBe(true);
  lanes.looked('mail', { ...short, whole: false });
  expect(lanes.isResting('mail')).toBe(false);
  lanes.looked('mail', { ...short, full: true, found: 1 });
  expect(lanes.isResting('mail')).toBe(false);
});

it('a look says when the next job falls due, unless it is for jobs that were told of', () => {
  const lanes = createLanes(['mail'], 1_000);
  expect(lanes.looking('mail')).toEqual({ due: true, keeps: false });
  lanes.wake('mail', 'work');
  expect(lanes.looking('mail')).toEqual({ due: false, keeps: false });
  lanes.wake('mail', 'later');
  lanes.wake('mail', 'work');
  expect(lanes.looking('mail')).toEqual({ due: true, keeps: true });
  expect(lanes.looking('mail')).toEqual({ due: true, keeps: false });
});

it('after jobs that were told of, looks come later than after others, unless such have been found already', () => {
  const lanes = createLanes(['mail'], 1_000);
  const pauseAfter = (told: boolean) => {
    if (told) lanes.wake('mail', 'work');
    lanes.looking('mail');
    lanes.looked('mail', { ...short, found: 1 });
    return Math.ceil(lanes.untilDue(new Map([['mail', 1]])) / 5) * 5;
  };
  for (let n = 0; n < 10; n++) lanes.looked('mail', short);
  expect(pauseAfter(true)).toBe(40);
  expect(pauseAfter(false)).toBe(5);
  expect(pauseAfter(true)).toBe(10);
  for (let n = 0; n < 10; n++) lanes.looked('mail', short);
  lanes.wake('mail', 'work');
  lanes.looking('mail');
  lanes.looked('mail', { ...short, found: 2 });
  expect(lanes.untilDue(new Map([['mail', 1]]))).toBeLessThanOrEqual(5);
});

describe('a job that was named', () => {
  const resting = () => {
    const lanes = createLanes(['mail'], 60_000);
    lanes.looking('mail');
    lanes.looked('mail', short);
    return lanes;
  };

  it('is all there is to do in a queue that was empty, also while a look is under way or due', () => {
    const lanes = createLanes(['mail'], 60_000);
    expect(lanes.isQuiet('mail')).toBe(false); // nobody has looked yet
    lanes.looking('mail');
    expect(lanes.isQuiet('mail')).toBe(false);
    lanes.looked('mail', short);
    expect(lanes.isQuiet('mail')).toBe(true);
    vi.advanceTimersByTime(60_001);
    expect(lanes.isDue('mail')).toBe(true);
    expect(lanes.isQuiet('mail')).toBe(true);
    lanes.looking('mail');
    expect(lanes.isQuiet('mail')).toBe(true);
  });

  it.each<[string, (lanes: Lanes) => void]>([
    ['there is said to be work', (lanes) => lanes.wake('mail', 'work')],
    ['there is said to be some later', (lanes) => lanes.wake('mail', 'later')],
    ['the last look left jobs behind', (lanes) => lanes.looked('mail', { ...short, found: 1, full: true })],
    ['the last look saw a part', (lanes) => lanes.looked('mail', { ...short, whole: false })],
  ])('is left to a look where %s', (_why, also) => {
    const lanes = resting();
    also(lanes);
    expect(lanes.isQuiet('mail')).toBe(false);
    lanes.looking('mail');
    lanes.looked('mail', short);
    expect(lanes.isQuiet('mail')).toBe(true);
  });

  it('brings the next look nearer, however many come, and never puts it off', () => {
    const lanes = resting();
    const wait = () => lanes.untilDue(new Map([['mail', 1]]));
    expect(wait()).toBeGreaterThan(50_000);
    lanes.foundNamed('mail');
    expect(wait()).toBeGreaterThan(20);
    expect(wait()).toBeLessThanOrEqual(50);
    vi.advanceTimersByTime(30);
    lanes.foundNamed('mail');
    expect(wait()).toBeLessThanOrEqual(20);
  });
});
