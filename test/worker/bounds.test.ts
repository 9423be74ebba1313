/** Where a worker's next claim begins, after what the last ones found, and when it looks at everything. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Level } from '../../src/sql/claim-next.js';
import { type Bounds, createBounds } from '../../src/worker/bounds.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const second = 1_000_000;
const none: ReadonlyMap<string, readonly Level[]> = new Map();
/** The database's clock. */
const nowUs = 1_000 * second;

type Found = Record<number, number>;

/** A look at everything in one queue, which gave all that was wanted unless it is said to be short. */
function look(
  bounds: Bounds,
  ended: Found,
  { queue = 'mail', full = true, tookMs = 100, given = none, at = nowUs } = {},
): void {
  const levels = Object.entries(ended).map(([priority, sinceUs]) => ({
    priority: Number(priority),
    sinceUs,
  }));
  bounds.looked(given, new Map([[queue, { full, ended: levels, nowUs: at }]]), tookMs);
}

/** The same, but one that began where it was told to. */
function boundedLook(
  bounds: Bounds,
  ended: Found,
  options: { full?: boolean; tookMs?: number; at?: number },
) {
  look(bounds, ended, { ...options, given: bounds.of(['mail']) });
}

/** By priority, where the next claim begins; undefined when it looks at everything. */
function next(bounds: Bounds, queue = 'mail'): Found | undefined {
  const levels = bounds.of([queue]).get(queue);
  return levels && Object.fromEntries(levels.map(({ priority, sinceUs }) => [priority, sinceUs]));
}

it('at first everything is looked at', () => {
  expect(createBounds().of(['mail', 'default'])).toEqual(new Map());
});

it('a full look leads to where it ended, in its lowest priority, but to no later than a second ago', () => {
  const bounds = createBounds();
  look(bounds, { 0: 900 * second });
  expect(next(bounds)).toEqual({ 0: 900 * second });
  look(bounds, { 0: nowUs - 1 });
  expect(next(bounds)).toEqual({ 0: nowUs - second });
});

it('the priorities above the lowest were looked at up to now, also those that had no jobs any more', () => {
  const bounds = createBounds();
  look(bounds, { 9: 100 * second, 5: 200 * second, '-3': 300 * second });
  expect(next(bounds)).toEqual({ 9: 999 * second, 5: 999 * second, '-3': 300 * second });

  boundedLook(bounds, { '-3': 310 * second }, { at: nowUs + 7 * second });
  expect(next(bounds)).toEqual({ 9: 1_006 * second, 5: 1_006 * second, '-3': 310 * second });
});

it('the priorities below the lowest stay as they were known', () => {
  const bounds = createBounds();
  look(bounds, { 5: 100 * second, 0: 200 * second });
  boundedLook(bounds, { 7: 500 * second }, { at: nowUs + second });
  expect(next(bounds)).toEqual({ 7: 500 * second, 5: 999 * second, 0: 200 * second });
});

it('a look at everything that found older jobs leads back to them', () => {
  const bounds = createBounds();
  look(bounds, { 0: 900 * second });
  look(bounds, { 0: 20 * second });
  expect(next(bounds)).toEqual({ 0: 20 * second });
});

it('a short look forgets the queue, so that the next one makes sure', () => {
  const bounds = createBounds();
  look(bounds, { 0: 900 * second });
  boundedLook(bounds, { 0: 950 * second }, { full: false });
  expect(next(bounds)).toBeUndefined();
  look(bounds, {}, { full: false });
  expect(next(bounds)).toBeUndefined();
  look(bounds, { 1: 900 * second });
  expect(next(bounds)).toEqual({ 1: 900 * second }); // nothing is left of priority 0
});

it('jobs without a word of where the claim ended, as those claimed in parts, lead nowhere', () => {
  const bounds = createBounds();
  look(bounds, { 0: 900 * second });
  boundedLook(bounds, {}, { full: true });
  expect(next(bounds)).toBeUndefined();
});

it('a queue is known apart from the others', () => {
  const bounds = createBounds();
  const looks = new Map([
    ['mail', { full: true, ended: [{ priority: 0, sinceUs: 1 }], nowUs }],
    ['default', { full: false, ended: [{ priority: 0, sinceUs: 2 }], nowUs }],
  ]);
  bounds.looked(none, looks, 100);
  look(bounds, { 4: 3 }, { queue: 'other' });
  expect([next(bounds), next(bounds, 'default'), next(bounds, 'other')]).toEqual([
    { 0: 1 },
    undefined,
    { 4: 3 },
  ]);
  expect([...bounds.of(['other', 'default', 'none']).keys()]).toEqual(['other']);
});

it('of a queue that is to be looked at as a whole again, nothing is known', () => {
  const bounds = createBounds();
  look(bounds, { 0: 900 * second });
  look(bounds, { 4: 3 }, { queue: 'other' });
  bounds.forget('mail');
  expect([next(bounds), next(bounds, 'other')]).toEqual([undefined, { 4: 3 }]);
});

it('of a queue with more than 50 priorities nothing is remembered', () => {
  const bounds = createBounds();
  const priorities = (count: number): Found =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [n, (n + 1) * second]));
  look(bounds, priorities(50));
  expect(Object.keys(next(bounds) ?? {})).toHaveLength(50);
  boundedLook(bounds, { 50: second }, {});
  expect(next(bounds)).toBeUndefined();
  look(bounds, priorities(51));
  expect(next(bounds)).toBeUndefined();
});

it.each([
  { tookMs: 100, afterMs: 900 },
  { tookMs: 1, afterMs: 9 },
  { tookMs: 5_000, afterMs: 10_000 }, // not the 45 s that it costs
])('after a look at everything of $tookMs ms the next one comes in $afterMs ms', ({ tookMs, afterMs }) => {
  const bounds = createBounds();
  look(bounds, { 0: 900 * second }, { tookMs });
  // Looks from the bounds on do not put it off, however long they take.
  vi.advanceTimersByTime(afterMs / 2);
  boundedLook(bounds, { 0: 901 * second }, { tookMs: 3_000 });
  vi.advanceTimersByTime(afterMs / 2 - 0.5);
  expect(next(bounds)).toEqual({ 0: 901 * second });
  vi.advanceTimersByTime(1);
  expect(next(bounds)).toBeUndefined();
  look(bounds, { 0: 902 * second }, { tookMs });
  expect(next(bounds)).toEqual({ 0: 902 * second });
});

it('looks into an idle queue do not put off the look at everything in a busy one', () => {
  const bounds = createBounds();
  look(bounds, { 0: 900 * second });
  for (let ms = 0; ms < 900; ms += 90) {
    expect(next(bounds)).toBeDefined();
    look(bounds, {}, { queue: 'default', full: false });
    vi.advanceTimersByTime(90);
  }
  expect(next(bounds)).toBeUndefined();
});
