/** What a run tells its handler, and is recorded with, when it does not end as the handler meant. */
import type { ClaimedJob } from '../sql/claim.js';
import { QueueError } from '../words/errors.js';

/** For `complete(tx)`, whose transaction rolls back by it. */
export function notOurs({ id }: ClaimedJob): QueueError {
  const message = `Job ${id} is not this run's any more; its transaction must roll back.`;
  return new QueueError('JOB_LOST', message, { data: { id } });
}

/**
 * After `complete(tx)` the job is over if the transaction was committed, and then nothing can be written any more.
 * This error is for a row that still runs: the transaction was rolled back, and the attempt has failed.
 */
export function rolledBack({ id }: ClaimedJob): QueueError {
  return new QueueError(
    'JOB_ROLLED_BACK',
    `Job ${id} was completed in a transaction that was rolled back, though its handler resolved.`,
    { data: { id } },
  );
}

export function hasOutcome({ id }: ClaimedJob, move: string): QueueError {
  const message = `Job ${id} has its outcome already; \`${move}\` changes nothing.`;
  return new QueueError('JOB_ENDED', message, { data: { id, move } });
}

export function completedTwice({ id }: ClaimedJob): QueueError {
  const message = `Job ${id} is completed in this transaction already.`;
  return new QueueError('JOB_ENDED', message, { data: { id, move: 'complete' } });
}
