/**
 * Writes down how claims ended, from the worker's events: a record that outlives the rows of completed jobs.
 */
import type { Worker } from 'drizzle-queue/worker';
import type { Db } from './database.js';
import { claimEnds } from './schema.js';

/** Begins to record; the function it gives resolves when everything recorded so far is in the database. */
export function recordClaimEnds(worker: Worker, db: Db): () => Promise<void> {
  const writing = new Set<Promise<unknown>>();

  // The promise is returned: the worker reports a listener that fails, instead of the process ending.
  function record(end: typeof claimEnds.$inferInsert): Promise<unknown> {
    const written = db
      .insert(claimEnds)
      .values(end)
      .finally(() => writing.delete(written));
    writing.add(written);
    return written;
  }

  worker.on('completed', ({ job }) => record({ ...claimOf(job), how: 'completed' }));
  worker.on('failed', ({ job, error }) =>
    record({ ...claimOf(job), how: 'failed', reason: reasonOf(error) }),
  );
  worker.on('discarded', ({ job, error }) =>
    record({ ...claimOf(job), how: 'discarded', reason: reasonOf(error) }),
  );
  worker.on('snoozed', ({ job }) => record({ ...claimOf(job), how: 'snoozed' }));
  worker.on('released', ({ job }) => record({ ...claimOf(job), how: 'released' }));
  worker.on('rescued', (job) => record({ ...claimOf(job), how: 'rescued' }));

  return async () => {
    await Promise.all(writing);
  };
}

function claimOf({ id, kind, lockedBy }: { id: number; kind: string; lockedBy: string }) {
  return { jobId: id, kind, lockedBy };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
