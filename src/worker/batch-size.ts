/** How many rows go into one statement: fewer after one that took too long, more again after those that went well. */
import { sqlState } from '../database/sqlstate.js';
import { QueueError } from '../words/errors.js';

export interface BatchSize {
  now(): number;
  /** Told of every failure; halves at those of time. */
  failed(error: unknown): void;
  succeeded(): void;
}

export function createBatchSize(largest: number): BatchSize {
  let size = largest;
  return {
    now: () => size,
    failed(error) {
      if (tookTooLong(error)) size = Math.max(1, Math.floor(size / 2));
    },
    succeeded() {
      size = Math.min(largest, size * 2);
    },
  };
}

const queryCanceled = '57014'; // the database's or role's statement_timeout

function tookTooLong(error: unknown): boolean {
  return (
    sqlState(error) === queryCanceled || (error instanceof QueueError && error.code === 'STATEMENT_TIMEOUT')
  );
}
