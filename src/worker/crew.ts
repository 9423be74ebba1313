/**
 * The workers of one table that live, as this one sees them, so that a wake-up sends as many to look as it takes and all
 * agree on which, without a word between them.
 */
import { createHash } from 'node:crypto';

export interface Crew {
  /** Told at each look at the sessions: the keys of those that live, with the bits of their queues. */
  saw(members: ReadonlyMap<number, number>): void;
  /**
   * Whether this worker is one of so many that serve the queue, counted from a place that the seed gives. Always, for as
   * long as it has not seen itself among them.
   */
  isMeant(queue: string, workers: number, seed: number): boolean;
  /** Whether it is the only one that serves the queue. */
  isAlone(queue: string): boolean;
}

export function createCrew(ownKey: number): Crew {
  let members: readonly (readonly [key: number, queues: number])[] = [];

  function of(queue: string): readonly number[] {
    const bit = bitOf(queue);
    return members.filter(([, queues]) => (queues & bit) !== 0).map(([key]) => key);
  }

  return {
    saw(seen) {
      members = [...seen].sort(([one], [other]) => one - other);
    },
    isMeant(queue, workers, seed) {
      const keys = of(queue);
      const place = keys.indexOf(ownKey);
      if (place < 0) return true;
      return (place + keys.length - (seed % keys.length)) % keys.length < workers;
    },
    isAlone(queue) {
      return of(queue).every((key) => key === ownKey);
    },
  };
}

/** One bit of 32 for each queue, by a hash of its name: what a worker's lock can tell of the queues it serves. */
export function queueBits(queues: Iterable<string>): number {
  let bits = 0;
  for (const queue of queues) bits |= bitOf(queue);
  return bits >>> 0;
}

function bitOf(queue: string): number {
  return 1 << (createHash('sha256').update(queue).digest().readUInt8() & 31);
}
