/** The jobs of the scenarios. */
import { defineJobs, job } from '../../src/index.js';

export interface Work {
  /** Its number; jobs whose transaction is rolled back have negative ones. */
  n: number;
  /** How long the handler is at work. */
  ms: number;
  /**
   * - `plain`: it is done when the handler returns
   * - `complete`: its effect in the database and its end commit together
   * - `fail once`: the first attempt throws
   */
  how: 'plain' | 'complete' | 'fail once';
}

/** Attempts are many: a scenario may kill a job's worker again and again, and none may end in `discarded` for that. */
export function faultRegistry(rescueAfterMs: number) {
  return defineJobs({ work: job<Work>({ rescueAfterMs, maxAttempts: 1_000, retry: () => 100 }) });
}

export const completeEvery = 3;
const failEvery = 7;

/** What the job of this number does. */
export function howOf(n: number): Work['how'] {
  if (n % completeEvery === 0) return 'complete';
  return n % failEvery === 0 ? 'fail once' : 'plain';
}
