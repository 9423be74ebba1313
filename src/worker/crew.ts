/**
 * The workers of one table that live, as this one sees them, so that a wake-up sends as many to look as it takes and all
 * agree on which, without a word between them.
 *
 * Those are counted that told which queues they serve. Others look whenever there is something: workers of some kinds
 * only, since a wake-up does not name the kind, and those of very many queues.
 */
import { createHash } from 'node:crypto';

/** A worker of more queues does not tell them: each is a lock in the server's table. */
const mostQueues = 16;

export interface Crew {
  /** Told at each look at the sessions: the keys of those that live, with the numbers of their queues. */
  saw(members: ReadonlyMap<number, ReadonlySet<number>>): void;
  /** Told by one that it serves these queues from now on, and by one that it serves none any more. */
  joined(key: number, queues: ReadonlySet<number>): void;
  left(key: number): void;
  /**
   * Whether this worker is one of so many that serve the queue, counted from a place that the seed gives. Always, for as
   * long as it has not seen itself among them.
   */
  isMeant(queue: string, workers: number, seed: number): boolean;
  /** The key of the next one that serves the queue, in a ring; undefined where there is no other. */
  after(queue: string): number | undefined;
  /** How many others serve the queue. */
  others(queue: string): number;
}

export function createCrew(ownKey: number): Crew {
  let members: readonly (readonly [key: number, queues: ReadonlySet<number>])[] = [];

  function of(queue: string): readonly number[] {
    const number = queueNumber(queue);
    return members.filter(([, queues]) => queues.has(number)).map(([key]) => key);
  }

  return {
    saw(seen) {
      members = ordered(seen);
    },
    joined(key, queues) {
      members = ordered(new Map(members).set(key, queues));
    },
    left(key) {
      members = members.filter(([other]) => other !== key);
    },
    isMeant(queue, workers, seed) {
      const keys = of(queue);
      const place = keys.indexOf(ownKey);
      if (place < 0) return true;
      return (place + keys.length - (seed % keys.length)) % keys.length < workers;
    },
    after(queue) {
      const others = of(queue).filter((key) => key !== ownKey);
      return others.find((key) => key > ownKey) ?? others[0];
    },
    others: (queue) => of(queue).filter((key) => key !== ownKey).length,
  };
}

function ordered(members: ReadonlyMap<number, ReadonlySet<number>>) {
  return [...members].sort(([one], [other]) => one - other);
}

/** What a worker tells of the queues it serves; nothing where it cannot be counted on for all of their jobs. */
export function toldQueues(queues: Iterable<string>, servesAllKinds: boolean): readonly number[] {
  const numbers = [...queues].map(queueNumber);
  return servesAllKinds && numbers.length <= mostQueues ? numbers : [];
}

/** A number of 32 bits that stands for the queue. */
function queueNumber(queue: string): number {
  const known = numbers.get(queue);
  if (known !== undefined) return known;
  const number = createHash('sha256').update(queue).digest().readUInt32BE();
  numbers.set(queue, number);
  return number;
}

/** Of the queues that workers of this process serve. */
const numbers = new Map<string, number>();
