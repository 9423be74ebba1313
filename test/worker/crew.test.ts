/** Which workers a wake-up sends to look: as many as it takes, and all agree on which. */
import { expect, it } from 'vitest';
import { createCrew, queueBits } from '../../src/worker/crew.js';

/** Crews of workers that all see each other, each with the queues it serves. */
function crewOf(workers: readonly (readonly string[])[]) {
  const members = new Map(workers.map((queues, n) => [n * 7 + 3, queueBits(queues)]));
  return [...members.keys()].map((key) => {
    const crew = createCrew(key);
    crew.saw(members);
    return crew;
  });
}

it.each([0, 1, 19, 20, 999_999, 1_767_225_600_000_123])(
  'of twenty, exactly as many look as are meant: seed %d',
  (seed) => {
    const crews = crewOf(Array.from({ length: 20 }, () => ['mail']));
    for (const workers of [1, 2, 19, 20]) {
      expect(crews.filter((crew) => crew.isMeant('mail', workers, seed))).toHaveLength(workers);
    }
    expect(crews.filter((crew) => crew.isMeant('mail', 1_000, seed))).toHaveLength(20);
  },
);

it('another seed sends others, until each had its turn', () => {
  const crews = crewOf(Array.from({ length: 5 }, () => ['mail']));
  const sent = [0, 1, 2, 3, 4].map((seed) => crews.findIndex((crew) => crew.isMeant('mail', 1, seed)));
  expect(sent.toSorted()).toEqual([0, 1, 2, 3, 4]);
});

it('only those that serve the queue are counted', () => {
  const crews = crewOf([['mail'], ['video'], ['video'], ['mail', 'video'], ['video']]);
  for (const seed of [0, 1, 2, 3]) {
    const meant = crews.map((crew, n) => (crew.isMeant('mail', 1, seed) ? n : -1));
    expect(meant[0] === 0 || meant[3] === 3).toBe(true);
  }
});

it('a worker that has not seen itself is always meant, and alone until it sees another', () => {
  const crew = createCrew(1);
  expect(crew.isMeant('mail', 1, 5)).toBe(true);
  expect(crew.isAlone('mail')).toBe(true);
  crew.saw(new Map([[2, queueBits(['mail'])]]));
  expect(crew.isMeant('mail', 1, 5)).toBe(true);
  expect(crew.isAlone('mail')).toBe(false);
  crew.saw(new Map([[1, queueBits(['mail'])]]));
  expect(crew.isAlone('mail')).toBe(true);
});

it('the bits of queues fit an unsigned number of 32 bits', () => {
  const all = queueBits(Array.from({ length: 1_000 }, (_, n) => `queue${n}`));
  expect(all).toBe(0xffff_ffff);
  expect(queueBits([])).toBe(0);
});
