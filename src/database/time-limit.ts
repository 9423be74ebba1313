/**
 * A limit in time for statements, since a connection that stops forwarding answers neither with a result nor with
 * an error, and a loop that awaits it would stand still for ever.
 */
import { QueueError } from '../words/errors.js';

/** Settles as the promise does, or rejects with `STATEMENT_TIMEOUT`. What the promise does later is `late`'s affair. */
export function withTimeLimit<T>(
  promise: Promise<T>,
  limitMs: number,
  late: (value: T) => void = () => {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false;
    const timer = setTimeout(() => {
      over = true;
      reject(
        new QueueError(
          'STATEMENT_TIMEOUT',
          `The database did not answer a statement within ${limitMs} ms. Is it there, and has the pool a connection to spare?`,
          {
            data: { limitMs },
          },
        ),
      );
    }, limitMs);
    promise.then(
      (value) => {
        clearTimeout(timer);
        if (over) late(value);
        else resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
