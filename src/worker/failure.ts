/** What a thrown value makes of an attempt: another one, or the end of the job. */
import type { ClaimedJob } from '../sql/claim.js';
import { retryDelay } from '../words/backoff.js';
import { QueueError, show } from '../words/errors.js';
import type { Outcome } from '../words/outcome.js';
import { isDiscard } from './discard.js';
import type { ServedKind } from './options.js';

/** Told of what must not change the outcome, and must not be silent either. */
export type OnFault = (error: unknown, during: 'handler' | 'retry') => void;

export function failed(error: unknown, job: ClaimedJob, { retry }: ServedKind, onFault: OnFault): Outcome {
  if (isDiscard(error)) return { move: 'discard', error };
  let answer: unknown;
  try {
    answer = retry?.(error, job.attempt, job.payload);
  } catch (fault) {
    onFault(fault, 'retry'); // a fault in retry must not keep the attempt from being recorded
  }
  if (answer === false) return { move: 'discard', error };
  const delayMs = retryDelay(answer);
  if (answer !== undefined && delayMs === undefined) onFault(badAnswer(answer, job), 'retry');
  return { move: 'fail', error, delayMs };
}

function badAnswer(answer: unknown, { kind }: ClaimedJob): QueueError {
  // Not awaited, but a promise must not end the process; `instanceof` would throw for a revoked Proxy.
  Promise.resolve(answer).catch(() => {});
  return new QueueError(
    'INVALID_OPTION',
    `Expected \`retry\` of ${show(kind)} to answer with ms from 0, false or undefined, got ${show(answer)}. ` +
      'The usual backoff is taken.',
    { data: { option: 'retry', kind, given: show(answer) } },
  );
}
