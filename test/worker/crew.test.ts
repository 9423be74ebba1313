/** Which workers a wake-up sends to look: as many as it takes, and all agree on which. */
import { expect, it } from 'vitest';
import { createCrew, toldQueues } from '../../src/worker/crew.js';

/** Crews of workers that all see each other, each with the queues it serves. */
function crewOf(workers: readonly (readonly string[])[]) {
  const members = new Map(
    workers.map((queues, n) => [n * 7 + 3, new Set(toldQueues(queues, true))] as const),
  );
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

const serving = (...queues: string[]) => new Set(toldQueues(queues, true));

it('a worker that has not seen itself is always meant', () => {
  const crew = createCrew(1);
  expect(crew.isMeant('mail', 1, 5)).toBe(true);
  crew.saw(new Map([[2, serving('mail')]]));
  expect(crew.isMeant('mail', 1, 5)).toBe(true);
});

it('one that does not tell its queues looks always, and is counted by nobody', () => {
  expect(toldQueues(['mail'], false)).toEqual([]);
  expect(
    toldQueues(
      Array.from({ length: 17 }, (_, n) => `queue ${n}`),
      true,
    ),
  ).toEqual([]);
  const members = new Map([
    [1, serving()],
    [2, serving('mail')],
    [3, serving('mail')],
  ]);
  const crews = [1, 2, 3].map((key) => {
    const crew = createCrew(key);
    crew.saw(members);
    return crew;
  });
  for (const seed of [0, 1, 2, 3]) {
    const [partial, ...others] = crews.map((crew) => crew.isMeant('mail', 1, seed));
    expect(partial).toBe(true);
    expect(others.toSorted()).toEqual([false, true]);
  }
});

it('the next one is that of a ring, which leads once around all others', () => {
  const crews = crewOf(Array.from({ length: 4 }, () => ['mail']));
  const keys = [3, 10, 17, 24];
  expect(crews.map((crew) => crew.after('mail'))).toEqual([10, 17, 24, 3]);
  expect(crews.map((crew) => crew.others('mail'))).toEqual([3, 3, 3, 3]);
  expect(crews.map((crew) => crew.after('other'))).toEqual(keys.map(() => undefined));
});

it('one that left is not counted', () => {
  const crew = createCrew(1);
  crew.saw(
    new Map([
      [1, serving('mail')],
      [2, serving('mail')],
    ]),
  );
  crew.left(2);
  expect(crew.after('mail')).toBeUndefined();
  for (const seed of [0, 1]) expect(crew.isMeant('mail', 1, seed)).toBe(true);
});

it('one that joined is counted at once, without a look', () => {
  const crew = createCrew(1);
  crew.saw(new Map([[1, serving('mail')]]));
  crew.joined(2, serving('mail'));
  expect(crew.after('mail')).toBe(2);
  crew.joined(2, serving('video'));
  expect(crew.after('mail')).toBeUndefined();
});
