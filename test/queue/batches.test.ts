/** A list is cut by number and by size, so that no statement outgrows what Postgres takes. */
import { describe, expect, it } from 'vitest';
import { batches } from '../../src/queue/batches.js';
import type { NewJob } from '../../src/sql/enqueue.js';

function ofSizes(...characters: readonly number[]): NewJob[] {
  const job = {
    queue: 'default',
    kind: 'keep',
    priority: 0,
    when: { delayMs: 0 },
    maxAttempts: 1,
    timeoutS: 60,
  };
  return characters.map((length) => ({ ...job, payload: ' '.repeat(length) }));
}

const sizes = (list: readonly NewJob[]) =>
  [...batches(list)].map((part) => part.map(({ payload }) => payload.length));

describe('batches', () => {
  it('are none for an empty list', () => {
    expect(sizes([])).toEqual([]);
  });

  it('hold up to 5,000 jobs', () => {
    const parts = [...batches(ofSizes(...Array.from({ length: 10_001 }, () => 2)))];
    expect(parts.map((part) => part.length)).toEqual([5_000, 5_000, 1]);
  });

  it('hold up to 16,000,000 characters of payload, and a larger job alone', () => {
    const [half, large] = [8_000_000, 20_000_000];
    expect(sizes(ofSizes(half, half, 1, large, 1))).toEqual([[half, half], [1], [large], [1]]);
    expect(sizes(ofSizes(large, 1))).toEqual([[large], [1]]);
  });

  it('keep the order and lose nothing', () => {
    const list = ofSizes(...Array.from({ length: 6_000 }, (_, n) => n));
    expect([...batches(list)].flat()).toEqual(list);
  });
});
