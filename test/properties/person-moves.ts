/** The moves that a person makes, as commands: on jobs in whatever state, held or not, and on some that are not there. */
import { deepStrictEqual } from 'node:assert/strict';
import type fc from 'fast-check';
import type { Executor } from '../../src/database/executor.js';
import { cancel } from '../../src/sql/cancel.js';
import type { MovedRow } from '../../src/sql/persons-move.js';
import { remove } from '../../src/sql/remove.js';
import { replay } from '../../src/sql/replay.js';
import { reschedule } from '../../src/sql/reschedule.js';
import type { State } from '../../src/words/states.js';
import { table } from '../support/jobs.js';
import { anyPicks, type Command, type Crowd, command } from './crowd.js';
import type { ModelJob } from './model.js';
import { make } from './stopped-time.js';

const channel = 'nobody_listens';
const overNow = { lockedBy: null, silent: false } as const;

export const cancelSome = byPerson({
  what: 'cancels',
  from: ['available', 'running'],
  send: (db, ids) => cancel(db, table, channel, ids),
  change: (_crowd, job) => void Object.assign(job, { state: 'cancelled', ...overNow }),
});

export const replaySome = byPerson({
  what: 'replays',
  from: ['completed', 'discarded', 'cancelled'],
  send: (db, ids) => replay(db, table, channel, ids),
  change: (_crowd, job) =>
    void Object.assign(job, { state: 'available', attempts: 0, runAt: 'now', result: null }),
});

export const runNowSome = byPerson({
  what: 'runs now',
  from: ['available'],
  send: (db, ids) => reschedule(db, table, channel, ids, { delayMs: 0 }),
  change: (_crowd, job) => void Object.assign(job, { runAt: 'now' }),
});

export const putOffSome = byPerson({
  what: 'puts off',
  from: ['available'],
  send: (db, ids) => reschedule(db, table, channel, ids, { delayMs: 3_600_000 }),
  change: (_crowd, job) => void Object.assign(job, { runAt: 'later' }),
});

export const removeSome = byPerson({
  what: 'removes',
  from: ['available', 'running', 'completed', 'discarded', 'cancelled'],
  send: (db, ids) => remove(db, table, channel, ids),
  change: (crowd, { id }) => void crowd.jobs.delete(id),
});

interface ByPerson {
  readonly what: string;
  readonly from: readonly State[];
  readonly send: (db: Executor, ids: readonly number[]) => Promise<MovedRow[]>;
  readonly change: (crowd: Crowd, job: ModelJob) => void;
}

function byPerson({ what, from, send, change }: ByPerson): fc.Arbitrary<Command> {
  return anyPicks.map((picks) =>
    command(
      `a person ${what} ${picks}`,
      async (crowd, { db }) => {
        // One more than there are: one that was deleted, or never was.
        const known = [...crowd.jobs.keys(), 1_000];
        const ids = [...new Set(picks.map((pick) => known[pick % known.length] ?? 0))];
        await make(
          db,
          crowd,
          (tx) => send(tx, ids),
          (answers) => {
            const expected = ids.map((id): MovedRow => {
              const job = crowd.jobs.get(id);
              if (!job) return { id, result: 'gone', state: null };
              if (!from.includes(job.state)) return { id, result: 'refused', state: job.state };
              if (!crowd.isFree(job)) return { id, result: 'busy', state: job.state };
              change(crowd, job);
              return { id, result: 'done', state: crowd.jobs.get(id)?.state ?? null };
            });
            deepStrictEqual(answers, expected);
          },
        );
      },
      (crowd) => crowd.jobs.size > 0,
    ),
  );
}
