/** What a thrown value makes of an attempt: another one, or the end of the job. */
import { retryDelay } from '../words/backoff.js';
import { QueueError, show } from '../words/errors.js';
import type { Outcome } from '../words/outcome.js';
import { isDiscard } from './discard.js';
import type { ServedKind } from './options.js';

/** Told of what must not change the outcome, and must not be silent either. */
export type OnFault = (error: unknown, during: 'handler' | 'retry') => void;

/** What `retry` is told of the attempt beside the error. */
export interface Attempt {
  readonly attempt: number;
  /** As the handler was given it. */
  readonly payload: unknown;
}

export function failed(
  error: unknown,
  { attempt, payload }: Attempt,
  { name, retry }: ServedKind,
  onFault: OnFault,
): Outcome {
  if (isDiscard(error)) return { move: 'discard', error };
  let answer: unknown;
  try {
    answer = retry?.(error, attempt, payload);
  } catch (fault) {
    onFault(fault, 'retry'); // a fault in retry must not keep the attempt from being recorded
  }
  if (answer === false) return { move: 'discard', error };
  const delayMs = retryDelay(answer);
  if (answer !== undefined && delayMs === undefined) onFault(badAnswer(answer, name), 'retry');
  return { move: 'fail', error, delayMs };
}

function badAnswer(answer: unknown, kind: string): QueueError {
  // Not awaited, but a promise must not end the process; `instanceof` would throw for a revoked Proxy.
  Promise.resolve(answer).catch(() => {});
  return new QueueError(
    'INVALID_OPTION',
    `Expected \`retry\` of ${show(kind)} to answer with ms from 0, false or undefined, got ${show(answer)}. ` +
      'The usual backoff is taken.',
    { data: { option: 'retry', kind, given: show(answer) } },
  );
}
