/** When jobs come that many users enqueue, each when it pleases him. */

/**
 * The times between jobs, in ms: exponential, so that when the next one comes does not depend on when the last one did. It
 * is in step with nobody's polls, jobs come to workers that have rested for long and to those that are at work, and several
 * come close together as in life. The lengths are the same in each round and for each contender (that many quantiles of the
 * distribution), so nobody gets a better draw, and only their order is left to chance.
 */
export function randomGaps(jobs: number, perSecond: number): number[] {
  const gaps = Array.from({ length: jobs }, (_, i) => (-Math.log(1 - (i + 0.5) / jobs) * 1_000) / perSecond);
  return shuffled(gaps);
}

/** Fisher and Yates: each order is as likely as any other. */
function shuffled<Value>(values: readonly Value[]): Value[] {
  const left = [...values];
  return values.flatMap(() => left.splice(Math.floor(Math.random() * left.length), 1));
}
