/** A run from its start to its outcome, for those who have one job at a time. */
import type { ClaimedJob } from '../sql/claim.js';
import type { Outcome } from '../words/outcome.js';
import { execute, type Run, type Surroundings } from '../worker/execute.js';

/** Runs it by the rules of a worker; without an outcome where the run was lost. Nothing is written. */
export function runToEnd(
  job: ClaimedJob,
  around: Omit<Surroundings, 'onOver'>,
): Promise<{ readonly run: Run; readonly outcome: Outcome | undefined }> {
  return new Promise((resolve) => {
    execute(job, { ...around, onOver: (run, outcome) => resolve({ run, outcome }) });
  });
}
