/**
 * A database in which time stands still, so that a model can say what is due and who is dead: each move is made in a
 * transaction at whose end what waits is put off to the next century, what has become due goes to one day of the past,
 * and signs of life last for another hour.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { sql } from 'drizzle-orm';
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type { Transaction } from '../../src/database/executor.js';
import { idArray } from '../../src/database/parameters.js';
import { rows } from '../../src/database/rows.js';
import { jobs } from '../../src/database/tables.js';
import { dayOf, type Model, type ModelJob, type RunAt } from './model.js';

/** Makes a move, then compares every row with the model. */
export async function make<Answer>(
  db: PostgresJsDatabase,
  model: Model,
  move: (tx: Transaction) => Promise<Answer>,
  modelMove: (answer: Answer) => void,
): Promise<void> {
  await db.transaction(async (tx) => {
    modelMove(await move(tx));
    await compare(tx, model);
    await stopTime(tx, model);
  });
}

async function compare(tx: PostgresJsDatabase, model: Model): Promise<void> {
  const found = await tx
    .select({
      job: jobs,
      result: sql<string | null>`${jobs.result}::text`,
      // Of a job that waits: at least as long as the shortest backoff from now, which is before the move.
      waits: sql<boolean>`${jobs.runAt} >= now() + interval '1 second'`,
      isDue: sql<boolean>`${jobs.runAt} <= clock_timestamp()`,
      silent: sql<boolean>`${jobs.heartbeatAt} < now() - interval '30 minutes'`,
      alive: sql<boolean>`${jobs.heartbeatAt} >= now()`,
    })
    .from(jobs)
    .orderBy(jobs.id);
  const seen = found.map(({ job, result, waits, isDue, silent, alive }): ModelJob => {
    const runAt = dayOf(job.runAt.toISOString());
    const past: RunAt | undefined = runAt === 'later' ? undefined : runAt;
    return {
      id: job.id,
      queue: job.queue,
      kind: job.kind,
      priority: job.priority,
      maxAttempts: job.maxAttempts,
      state: job.state,
      attempts: job.attempts,
      runAt: past ?? (waits ? 'later' : isDue ? 'now' : never(job.id, 'neither waits nor is due')),
      lockedBy: job.lockedBy,
      silent: job.state === 'running' && (silent || (!alive && never(job.id, 'is neither silent nor alive'))),
      lastError: job.lastError,
      result,
      errors: job.errors.map(({ attempt, error }) => [attempt, error] as const),
    };
  });
  const expected = [...model.jobs.values()].sort((a, b) => a.id - b.id);
  deepStrictEqual(seen.map(withoutOldTime), expected.map(withoutOldTime));
}

/** When a job that is over was due is of no account. */
function withoutOldTime(job: ModelJob): Omit<ModelJob, 'runAt'> & { readonly runAt: RunAt | undefined } {
  return { ...job, runAt: job.state === 'available' || job.state === 'running' ? job.runAt : undefined };
}

async function stopTime(tx: Transaction, model: Model): Promise<void> {
  const those = (which: (job: ModelJob) => boolean) =>
    idArray([...model.jobs.values()].filter((job) => which(job)).map(({ id }) => id));
  await rows(
    tx,
    sql`
update jobs
set    run_at = case when id = any(${those((job) => job.runAt === 'later')}) then '2100-01-01'
                     when run_at > '2020-01-04'                            then '2020-01-05'
                     else run_at end,
       heartbeat_at = case when id = any(${those((job) => job.silent)}) then heartbeat_at
                           when state = 'running'                       then now() + interval '1 hour' end
where  id = any(array(select id from jobs for update skip locked))`,
  );
}

/** Ids begin anew for each sequence of moves, so that a counterexample is the same in each run. */
export async function forgetAll(db: PostgresJsDatabase): Promise<void> {
  await db.execute(sql`truncate jobs restart identity`);
}

function never(id: number, what: string): never {
  throw new Error(`Job ${id} ${what}.`);
}
