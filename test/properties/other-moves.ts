/** What happens to jobs besides: an app's transactions, a person's SQL as in the README, and time. */
import { deepStrictEqual } from 'node:assert/strict';
import { type SQL, sql } from 'drizzle-orm';
import fc from 'fast-check';
import { numberOf, rows } from '../../src/database/rows.js';
import {
  anyPicks,
  anyWorker,
  ascending,
  type Command,
  type Crowd,
  command,
  onePick,
  type Real,
} from './crowd.js';
import type { ModelJob } from './model.js';
import { make } from './stopped-time.js';

export const completeInOpen = fc
  .record({ n: anyWorker, late: fc.boolean(), picks: onePick, keeps: fc.boolean() })
  .map(({ n, late, picks, keeps }) =>
    command(
      `worker ${n} completes${keeps ? ' and keeps' : ''} run ${picks}${late ? ' of old' : ''} in a transaction that stays open`,
      async (crowd, real) => {
        for (const run of crowd.runs(n, { late, picks })) {
          const kept = keeps ? { result: '[2]' } : undefined;
          const done = crowd.completeIn(run, kept);
          deepStrictEqual(await real.open.complete(run, kept), done);
          if (!done) await real.open.end('rollback');
        }
        await look(crowd, real);
      },
      (crowd) => !crowd.held && crowd.runs(n, { late, picks }).length > 0,
    ),
  );

export const lockInOpen = onePick.map((picks) =>
  command(
    `the app locks job ${picks} in a transaction that stays open`,
    async (crowd, real) => {
      const running = crowd.freeJobs(({ state }) => state === 'running', picks);
      for (const { id } of running.length > 0 ? running : crowd.freeJobs(() => true, picks)) {
        await real.open.lock(id);
        crowd.held = { id };
      }
      await look(crowd, real);
    },
    (crowd) => !crowd.held && crowd.jobs.size > 0,
  ),
);

export const endOpen = fc.constantFrom('commit', 'rollback').map((how) =>
  command(
    `${how} of the open transaction`,
    async (crowd, real) => {
      await real.open.end(how);
      crowd.letGo(how);
      await look(crowd, real);
    },
    (crowd) => crowd.held !== undefined,
  ),
);

export const silence = onJobs({
  what: 'no sign of life of the running jobs',
  fits: ({ state }) => state === 'running',
  set: sql`update jobs set heartbeat_at = heartbeat_at - interval '1 day'`,
  change: (_crowd, job) => {
    job.silent = true;
  },
});

export const timePasses = onJobs({
  what: 'time passes for the waiting jobs',
  fits: ({ state, runAt }) => state === 'available' && runAt === 'later',
  set: sql`update jobs set run_at = now()`,
  change: (_crowd, job) => {
    job.runAt = 'now';
  },
});

export const deleteByHand = onJobs({
  what: 'a person deletes job',
  picks: onePick,
  fits: () => true,
  set: sql`delete from jobs`,
  change: (crowd, { id }) => void crowd.jobs.delete(id),
});

export const cancelByHand = onJobs({
  what: 'a person cancels unfinished job',
  picks: onePick,
  fits: ({ state }) => state === 'available' || state === 'running',
  set: sql`
    update jobs
    set    state = 'cancelled', finished_at = now(), locked_by = null, heartbeat_at = null, started_at = null`,
  change: (_crowd, job) => void Object.assign(job, { state: 'cancelled', lockedBy: null, silent: false }),
});

export const replayByHand = onJobs({
  what: 'a person replays the jobs that are over',
  fits: ({ state }) => state === 'discarded' || state === 'cancelled',
  set: sql`update jobs set state = 'available', attempts = 0, finished_at = null, run_at = now()`,
  change: (_crowd, job) => void Object.assign(job, { state: 'available', attempts: 0, runAt: 'now' }),
});

interface ByHand {
  readonly what: string;
  /** @default several */
  readonly picks?: fc.Arbitrary<readonly number[]>;
  readonly fits: (job: ModelJob) => boolean;
  /** A statement without its `where`. */
  readonly set: SQL;
  readonly change: (crowd: Crowd, job: ModelJob) => void;
}

function onJobs({ what, picks: which = anyPicks, fits, set, change }: ByHand): fc.Arbitrary<Command> {
  return which.map((picks) =>
    command(
      `${what} ${picks}`,
      async (crowd, { db }) => {
        const jobs = crowd.freeJobs(fits, picks);
        const ids = jobs.map(({ id }) => id);
        await make(
          db,
          crowd,
          (tx) => rows(tx, sql`${set} where id in ${ids} returning id`),
          (changed) => {
            deepStrictEqual(ascending(changed.map((row) => numberOf(row['id']))), ascending(ids));
            for (const job of jobs) change(crowd, job);
          },
        );
      },
      (crowd) => crowd.freeJobs(fits).length > 0,
    ),
  );
}

/** Makes no move and compares. */
function look(crowd: Crowd, { db }: Real): Promise<void> {
  return make(
    db,
    crowd,
    async () => {},
    () => {},
  );
}
