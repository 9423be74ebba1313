/** The moves of `src/sql/` as commands: made in the database and in the model, with the same answer expected. */
import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { claim } from '../../src/sql/claim.js';
import { enqueue, type NewJob } from '../../src/sql/enqueue.js';
import { enqueueMany } from '../../src/sql/enqueue-many.js';
import { heartbeat } from '../../src/sql/heartbeat.js';
import { releaseClaims } from '../../src/sql/release-claims.js';
import { findDead, rescue } from '../../src/sql/rescue.js';
import type { ClaimedId, Outcome } from '../../src/words/outcome.js';
import { writesOf } from '../../src/worker/writes.js';
import { finish } from '../support/finish.js';
import { table } from '../support/jobs.js';
import { anyPicks, anyWorker, ascending, command, idOf, onePick, show, sorted } from './crowd.js';
import { instantOf, type NewModelJob, type RunAt } from './model.js';
import { make } from './stopped-time.js';

const queues = ['one', 'two'];

const newJob: fc.Arbitrary<NewModelJob> = fc.record(
  {
    queue: fc.constantFrom(...queues),
    kind: fc.constantFrom('known', 'known', 'known', 'foreign'),
    priority: fc.constantFrom(0, 0, 7, -32_768, 32_767),
    maxAttempts: fc.constantFrom(1, 2, 30),
    runAt: fc.constantFrom<RunAt>(1, 2, 3, 'now', 'now', 'later'),
  },
  { noNullPrototype: true },
);

/** Few jobs, so that each is claimed again and again. */
const mostJobs = 4;

export const enqueueOne = newJob.map((job) =>
  command(
    `enqueue(${show(job)})`,
    (crowd, { db }) =>
      make(
        db,
        crowd,
        (tx) => enqueue(tx, table, rowOf(job)),
        (id) => crowd.add(id, job),
      ),
    (crowd) => crowd.jobs.size < mostJobs,
  ),
);

export const enqueueList = fc.array(newJob, { minLength: 2, maxLength: mostJobs }).map((list) =>
  command(
    `enqueueMany(${show(list)})`,
    (crowd, { db }) =>
      make(
        db,
        crowd,
        (tx) => enqueueMany(tx, table, list.map(rowOf)),
        (ids) => {
          for (const [n, job] of list.entries()) crowd.add(ids[n] ?? 0, job);
        },
      ),
    (crowd) => crowd.jobs.size === 0,
  ),
);

export const claimSome = fc
  .record({
    n: anyWorker,
    want: fc.uniqueArray(fc.tuple(fc.constantFrom(...queues), fc.integer({ min: 1, max: 5 })), {
      minLength: 1,
      selector: ([queue]) => queue,
    }),
    kinds: fc.constantFrom(['known', 'foreign'], ['known', 'foreign'], ['known', 'foreign'], ['known'], []),
  })
  .map(({ n, want, kinds }) =>
    command(`worker ${n} claims ${show(want)} of ${show(kinds)}`, async (crowd, { db }) => {
      const request = { want: new Map(want), kinds, lockedBy: crowd.nextClaim(n) };
      await make(
        db,
        crowd,
        (tx) => claim(tx, table, request),
        ({ jobs, refused }) => {
          const expected = crowd
            .claim(request)
            .map(({ id, lockedBy, queue, kind, attempts, maxAttempts }) => {
              return {
                id,
                lockedBy,
                queue,
                kind,
                payload: {},
                attempt: attempts,
                maxAttempts,
                payloadVersion: 1,
                timeoutMs: undefined,
                meta: undefined,
              };
            });
          deepStrictEqual({ jobs, refused }, { jobs: expected, refused: [] });
          crowd.worker(n).runs.push(...jobs.map((job) => ({ ...idOf(job), ended: false })));
        },
      );
    }),
  );

export const beat = fc.record({ n: anyWorker, late: fc.boolean() }).map(({ n, late }) =>
  command(
    `worker ${n} beats for ${late ? 'its runs of old' : 'what it has'}`,
    async (crowd, { db }) => {
      const runs = crowd.runs(n, { late });
      await make(
        db,
        crowd,
        (tx) => heartbeat(tx, table, runs.map(idOf)),
        (answer) => {
          const expected = runs.map((run) => ({ ...idOf(run), pulse: crowd.heartbeat(run) }));
          deepStrictEqual(sorted(answer), sorted(expected));
        },
      );
    },
    (crowd) => crowd.runs(n, { late }).length > 0,
  ),
);

const error = fc.constantFrom('no luck', 'no route', 'no time'); // what else may be thrown has a test of its own
/** As Postgres prints it. */
const result = fc.constantFrom('{"n": 1}', 'null', '"text"', undefined);
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant<Outcome>({ move: 'complete' }),
  result.map((text): Outcome => ({ move: 'complete', kept: { result: text } })),
  ...[0, 3_600_000, undefined].map((delayMs) =>
    error.map((error): Outcome => ({ move: 'fail', error, delayMs })),
  ),
  error.map((error): Outcome => ({ move: 'discard', error })),
  fc
    .constantFrom(
      { delayMs: 0 },
      { delayMs: 3_600_000 },
      { runAt: instantOf(2) },
      { runAt: instantOf('later') },
    )
    .map((when): Outcome => ({ move: 'snooze', when })),
  ...[true, false].map((started) => fc.constant<Outcome>({ move: 'release', started })),
);

/** `late`: runs of old, as a worker that stood still sends them, or one that repeats what was not answered. */
export const finishSome = fc
  .record({
    n: anyWorker,
    late: fc.boolean(),
    picks: anyPicks,
    outcomes: fc.array(outcome, { minLength: 5, maxLength: 5 }),
  })
  .map(({ n, late, picks, outcomes }) =>
    command(
      `worker ${n} finishes${late ? ' of old' : ''} runs ${picks} with ${show(outcomes.slice(0, picks.length))}`,
      async (crowd, { db }) => {
        const runs = crowd.runs(n, { late, picks });
        const finishes = runs.map((run, at) => ({
          ...idOf(run),
          outcome: outcomes[at] ?? { move: 'complete' as const },
        }));
        await make(
          db,
          crowd,
          (tx) => finish(tx, table, finishes),
          (answers) => {
            // One statement after another, by how the runs ended: a job may be in two of them, by an old claim and by its own.
            const told = writesOf(finishes).flatMap(({ ends }) => crowd.finish(ends));
            const expected = finishes.flatMap((one) => told.filter((end) => isSame(end, one)));
            const found = answers.map(({ id, lockedBy, result, state }) => ({ id, lockedBy, result, state }));
            deepStrictEqual(sorted(found), sorted(expected));
            for (const [at, run] of runs.entries()) run.ended ||= expected[at]?.result !== 'busy';
          },
        );
      },
      (crowd) => crowd.runs(n, { late, picks }).length > 0,
    ),
  );

const isSame = (one: ClaimedId, other: ClaimedId): boolean =>
  one.id === other.id && one.lockedBy === other.lockedBy;

export const lookForDead = anyWorker.map((n) =>
  command(`worker ${n} looks for the dead`, (crowd, { db }) =>
    make(
      db,
      crowd,
      (tx) => findDead(tx, table),
      (found) => {
        deepStrictEqual(found, sorted(crowd.dead()));
        crowd.worker(n).suspects = found;
      },
    ),
  ),
);

export const rescueDead = fc
  .record({ n: anyWorker, all: fc.boolean(), late: fc.integer({ min: 0, max: 9 }).map((it) => it === 9) })
  .map(({ n, all, late }) =>
    command(
      `worker ${n} rescues ${all ? 'all' : 'its suspects'}${late ? ', too late' : ''}`,
      async (crowd, { db }) => {
        const request = {
          ...(all ? {} : { among: crowd.worker(n).suspects }),
          ...(late ? { notAfterS: 1 } : {}),
        };
        await make(
          db,
          crowd,
          (tx) => rescue(tx, table, request),
          (rescued) => {
            const expected = late ? [] : crowd.rescue(request.among);
            deepStrictEqual(sorted(rescued), sorted(expected));
          },
        );
      },
      (crowd) => crowd.dead().length > 0 || crowd.worker(n).suspects.length > 0,
    ),
  );

export const releaseByName = onePick.map((picks) =>
  command(
    `the claims ${picks} are released by name`,
    async (crowd, { db }) => {
      const names = crowd.claims();
      const claims = [...new Set(picks.map((pick) => names[pick % names.length] ?? ''))];
      await make(
        db,
        crowd,
        (tx) => releaseClaims(tx, table, claims),
        (released) => deepStrictEqual(ascending(released), ascending(crowd.release(claims))),
      );
    },
    (crowd) => crowd.claims().length > 0,
  ),
);

function rowOf({ queue, kind, priority, maxAttempts, runAt }: NewModelJob): NewJob {
  const delays = { now: 0, later: 3_600_000 };
  const when = typeof runAt === 'string' ? { delayMs: delays[runAt] } : { runAt: instantOf(runAt) };
  return { queue, kind, payload: '{}', priority, when, maxAttempts, timeoutS: 1 };
}
