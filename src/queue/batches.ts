/** Cuts a long list of jobs into statements of a bounded size. */
import type { NewJob } from '../sql/enqueue.js';
import { largestInsert } from '../sql/enqueue-many.js';

/** Characters of payload a statement; a parameter of Postgres ends at 1 GB, a JSON text at 256 MB. */
const mostCharacters = 16_000_000;

/** Parts of the list, in order, none empty. A job larger than the bound has a statement of its own. */
export function* batches<Job extends NewJob>(list: readonly Job[]): Generator<readonly Job[]> {
  let batch: Job[] = [];
  let characters = 0;
  for (const job of list) {
    if (
      batch.length === largestInsert ||
      (batch.length > 0 && characters + job.payload.length > mostCharacters)
    ) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(job);
    characters += job.payload.length;
  }
  if (batch.length > 0) yield batch;
}
