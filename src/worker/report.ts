/** Which event the end of a run is, once the database has said what became of it. */
import type { ClaimedJob } from '../sql/claim.js';
import type { Finished } from '../sql/finished.js';
import { QueueError } from '../words/errors.js';
import type { Outcome } from '../words/outcome.js';
import type { Events, JobInfo } from './events.js';
import type { EndedRun } from './execute.js';
import { hasOutcome } from './run-errors.js';

/** `sent`: the same finish was sent before, and its answer was lost. */
export function reportFinish(
  events: Events,
  run: EndedRun,
  outcome: Outcome,
  answer: Finished,
  sent: boolean,
): void {
  if (answer.result === 'done' && outcome.move === 'complete' && !events.heard('completed')) return;
  const job = jobInfo(run.job);
  const { durationMs } = run;
  if (
    (answer.result === 'gone' && run.completing) ||
    (answer.result === 'lost' && run.anewOn !== undefined)
  ) {
    events.emit('completed', { job, durationMs });
    // Said after the transaction was committed: it changes nothing, but it must not vanish.
    const late = saidToo(run.job, outcome);
    if (late) events.emit('error', { error: late.error, during: 'handler', retryInMs: null });
    return;
  }
  if (answer.result !== 'done') {
    if (sent) return events.emit('unknown', { job, move: outcome.move });
    return events.emit('lost', { job, during: 'finish' });
  }
  const dueInMs = Math.round(answer.dueInMs ?? 0);
  switch (outcome.move) {
    case 'complete':
      return events.emit('completed', { job, durationMs });
    case 'fail':
      return answer.state === 'discarded'
        ? events.emit('discarded', { job, error: outcome.error, durationMs })
        : events.emit('failed', { job, error: outcome.error, retryInMs: dueInMs, durationMs });
    case 'discard':
      return events.emit('discarded', { job, error: outcome.error, durationMs });
    case 'snooze':
      return events.emit('snoozed', { job, dueInMs });
    case 'release':
      if (answer.state === 'discarded') {
        return events.emit('discarded', { job, error: stoppedTooOften(job), durationMs });
      }
      return events.emit('released', { job, started: outcome.started });
  }
}

/** What a handler has said of its job, beside that it is completed. */
function saidToo(job: ClaimedJob, outcome: Outcome): { readonly error: unknown } | undefined {
  if (outcome.move === 'snooze') return { error: hasOutcome(job, 'snooze') };
  if (outcome.move === 'discard') return outcome;
  return outcome.move === 'fail' && !isRolledBack(outcome.error) ? outcome : undefined;
}

/** The worker's own guess, made in case the row would still be there. */
function isRolledBack(error: unknown): boolean {
  return error instanceof QueueError && error.code === 'JOB_ROLLED_BACK';
}

function stoppedTooOften({ id, attempt, maxAttempts }: JobInfo): QueueError {
  return new QueueError(
    'WORKER_STOPPED',
    `The worker was stopped while the handler of job ${id} ran, in attempt ${attempt} of ${maxAttempts}: there is no other.`,
    { data: { id, attempt, maxAttempts } },
  );
}

/** The part of a claimed job that events show: not the payload, which may hold what logs must not. */
export function jobInfo({ id, queue, kind, attempt, maxAttempts, lockedBy }: ClaimedJob): JobInfo {
  return { id, queue, kind, attempt, maxAttempts, lockedBy };
}
