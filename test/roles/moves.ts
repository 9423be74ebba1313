/** Everything that each role of a queue does, as a move with a name that says whether it had its effect. */
import { count, eq } from 'drizzle-orm';
import type { Sql } from 'postgres';
import { checkSchema } from '../../src/check/check-schema.js';
import type { QueueRole } from '../../src/check/needs.js';
import type { SchemaProblem } from '../../src/check/problem.js';
import type { Executor } from '../../src/database/executor.js';
import { sqlState } from '../../src/database/sqlstate.js';
import { tableName, tablePlace } from '../../src/database/table-name.js';
import { createQueue, type Queue } from '../../src/queue/queue.js';
import { job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import { claim } from '../../src/sql/claim.js';
import { completeAgainIn, completeIn } from '../../src/sql/complete.js';
import { deleteThrottles } from '../../src/sql/delete-throttles.js';
import { findPauses } from '../../src/sql/find-pauses.js';
import { heartbeat } from '../../src/sql/heartbeat.js';
import { keepIn } from '../../src/sql/keep.js';
import { mayDelete } from '../../src/sql/may-delete.js';
import { mayRead } from '../../src/sql/may-read.js';
import { releaseClaims } from '../../src/sql/release-claims.js';
import { findDead, rescue } from '../../src/sql/rescue.js';
import { databaseTimeS, sessionDefaults } from '../../src/sql/session.js';
import { QueueError } from '../../src/words/errors.js';
import type { Outcome } from '../../src/words/outcome.js';
import { finish } from '../support/finish.js';
import { given, type RunningColumns, row } from '../support/jobs.js';
import type { Actor, Roles } from './stage.js';

const lockedBy = 'worker/1';
export const registry = defineJobs({ greet: job<{ tenant: string }>() });

/** The moves that are in other tables than the jobs. */
const inThrottles = 'delete throttles that are over';
export const inLimits = 'read what is paused';
const pausing = 'pause and resume';
export const elsewhere: readonly string[] = [inThrottles, inLimits, pausing];

/** As this actor; true when it had its effect, seen by a superuser. */
type Move = (roles: Roles, actor: Actor) => Promise<boolean>;

/** What a reader does. */
const readersMoves: { readonly [name: string]: Move } = {
  async rows({ tables: { jobs }, ...roles }, actor) {
    const id = await given(roles.sql).discarded({ payload: { tenant: 'a' } });
    const [found] = await roles.as(actor).select().from(jobs).where(eq(jobs.id, id));
    return found?.state === 'discarded';
  },
  async counts({ tables: { jobs }, ...roles }, actor) {
    await given(roles.sql).available();
    const found = await roles
      .as(actor)
      .select({ state: jobs.state, n: count() })
      .from(jobs)
      .groupBy(jobs.state);
    return found.some(({ state, n }) => state === 'available' && n === 1);
  },
  async get(roles, actor) {
    const id = await given(roles.sql).available();
    return (await readingOf(roles).get(roles.as(actor), id))?.id === id;
  },
  async list(roles, actor) {
    const id = await given(roles.sql).available();
    return (await readingOf(roles).list(roles.as(actor))).jobs.some((job) => job.id === id);
  },
  async 'counts of the queue'(roles, actor) {
    await given(roles.sql).available();
    return (await readingOf(roles).counts(roles.as(actor))).length === 1;
  },
  async 'dead letters'(roles, actor) {
    await given(roles.sql).discarded();
    return (await readingOf(roles).deadLetters(roles.as(actor))).length === 1;
  },
  async [inLimits]({ tables, ...roles }, actor) {
    await roles.sql`insert into job_limits (scope, name) values ('queue', 'x') on conflict do nothing`;
    return (await createQueue(registry, { tables }).paused(roles.as(actor))).length === 1;
  },
  async wait(roles, actor) {
    const id = await given(roles.sql).completed();
    return readingOf(roles)
      .wait(roles.as(actor), 'greet', id)
      .then(
        () => true,
        (error: unknown) => {
          if (error instanceof QueueError) return false;
          throw error;
        },
      );
  },
};

/** What a person does to jobs, beside reading them. */
export const personsMoves: { readonly [name: string]: Move } = {
  'cancel one that waits': moving(async (queue, db, { available }) => queue.cancel(db, await available())),
  'cancel one that runs': moving(async (queue, db, { running }) => queue.cancel(db, await running())),
  replay: moving(async (queue, db, { discarded }) => queue.replay(db, await discarded({ dedupeKey: 'one' }))),
  async 'replay by a filter'(roles, actor) {
    const id = await given(roles.sql).discarded();
    const queue = createQueue(registry, { tables: roles.tables });
    const found = await queue.replay(roles.as(actor), { errorMatches: 'luck', kind: 'greet' });
    return found.some((answer) => answer.id === id && answer.result === 'done');
  },
  reschedule: moving(async (queue, db, { available }) =>
    queue.reschedule(db, await available(), { delayMs: 1_000 }),
  ),
  'run now': moving(async (queue, db, { available }) => queue.runNow(db, await available())),
  update: moving(async (queue, db, { available }) =>
    queue.update(db, 'greet', await available(), { tenant: 'b' }),
  ),
  async [pausing]({ tables, ...roles }, actor) {
    await roles.sql`delete from job_limits`;
    const queue = createQueue(registry, { tables });
    const [db, what] = [roles.as(actor), { kind: 'greet' } as const];
    const answers = [await queue.pause(db, what), await queue.pause(db, what), await queue.resume(db, what)];
    return answers.map(({ result }) => result).join() === 'done,unchanged,done';
  },
  remove: moving(async (queue, db, { available }) => queue.remove(db, await available())),
};

export const moves: { readonly [Role in QueueRole]: { readonly [name: string]: Move } } = {
  enqueuer: {
    async enqueue(roles, actor) {
      const queue = createQueue(registry, { tables: roles.tables, requireTransaction: true });
      const { id } = await roles
        .as(actor)
        .transaction((tx) => queue.enqueue(tx, 'greet', { tenant: 'a' }, { priority: 1, maxAttempts: 3 }));
      return (await stateOf(roles.sql, id)) === 'available';
    },
    async enqueueMany(roles, actor) {
      const queue = createQueue(registry, { tables: roles.tables, requireTransaction: true });
      const list = ['a', 'b'].map((tenant) => ({ kind: 'greet', payload: { tenant } }) as const);
      const added = await roles.as(actor).transaction((tx) => queue.enqueueMany(tx, list));
      const states = await Promise.all(added.map(({ id }) => stateOf(roles.sql, id)));
      return states.join() === 'available,available';
    },
    async 'enqueue with a dedupe key'(roles, actor) {
      const queue = createQueue(registry, { tables: roles.tables, requireTransaction: true });
      const answers = await roles.as(actor).transaction(async (tx) => {
        const enqueue = () => queue.enqueue(tx, 'greet', { tenant: 'a' }, { dedupeKey: 'one' });
        return [await enqueue(), await enqueue()] as const;
      });
      return (await stateOf(roles.sql, answers[1].id)) === 'available' && answers[1].duplicate;
    },
    async 'enqueueMany with dedupe keys'(roles, actor) {
      const queue = createQueue(registry, { tables: roles.tables, requireTransaction: true });
      const list = ['two', 'two', 'three'].map(
        (dedupeKey) => ({ kind: 'greet', payload: { tenant: 'a' }, dedupeKey }) as const,
      );
      const added = await roles.as(actor).transaction((tx) => queue.enqueueMany(tx, list));
      return added.map(({ duplicate }) => duplicate).join() === 'false,true,false';
    },
  },
  worker: {
    async session(roles, actor) {
      const db = roles.as(actor);
      return (await sessionDefaults(db)).isolation !== '' && (await databaseTimeS(db)) > 0;
    },
    async claim(roles, actor) {
      const id = await given(roles.sql).available();
      const request = { want: new Map([['default', 10]]), kinds: ['greet'], lockedBy: 'worker/2' };
      await claim(roles.as(actor), roles.table, request);
      return (await stateOf(roles.sql, id)) === 'running';
    },
    async heartbeat(roles, actor) {
      const id = await given(roles.sql).running({ lockedBy, heartbeatAgoS: 3_600 });
      await heartbeat(roles.as(actor), roles.table, [{ id, lockedBy }]);
      const heartbeatAt = (await row(roles.sql, id))?.heartbeatAt;
      return !!heartbeatAt && heartbeatAt.getTime() > Date.now() - 1_800_000;
    },
    complete: finishing('gone', { move: 'complete' }),
    'complete of a kind that keeps its rows': finishing('completed', {
      move: 'complete',
      kept: { result: '{}' },
    }),
    fail: finishing('available', { move: 'fail', error: 'no luck', delayMs: undefined }),
    'fail for the last time': finishing(
      'discarded',
      { move: 'fail', error: 'no luck', delayMs: undefined },
      { attempts: 10 },
    ),
    discard: finishing('discarded', { move: 'discard', error: 'pointless' }),
    snooze: finishing('available', { move: 'snooze', when: { delayMs: 1_000 } }),
    release: finishing('available', { move: 'release', started: false }),
    'release of a job that ran': finishing('available', { move: 'release', started: true }),
    'complete of a job that is to run once more': finishing(
      'available',
      { move: 'complete' },
      { again: true },
    ),
    async 'complete(tx) of a job that is to run once more'(roles, actor) {
      const id = await given(roles.sql).running({ lockedBy, again: true });
      await roles.as(actor).transaction((tx) => completeAgainIn(tx, roles.table, { id, lockedBy }));
      return (await stateOf(roles.sql, id)) === 'available';
    },
    async [inThrottles]({ tables: { jobThrottle }, ...roles }, actor) {
      await roles.sql`
        insert into job_throttle (kind, key, until) values ('greet', 'k', now() - interval '1 h') on conflict do nothing`;
      if (!jobThrottle) return false;
      const deleted = await deleteThrottles(roles.as(actor), tableName(jobThrottle), 60);
      const may = await mayDelete(roles.as(actor), tablePlace(jobThrottle));
      return deleted === 1 && may;
    },
    async [inLimits]({ tables: { jobLimits }, ...roles }, actor) {
      if (!jobLimits) return false;
      await roles.sql`insert into job_limits (scope, name) values ('queue', 'x') on conflict do nothing`;
      const { pauses } = await findPauses(roles.as(actor), tableName(jobLimits));
      return pauses.length === 1 && (await mayRead(roles.as(actor), tablePlace(jobLimits)));
    },
    async 'complete(tx)'(roles, actor) {
      const id = await given(roles.sql).running({ lockedBy });
      await roles.as(actor).transaction((tx) => completeIn(tx, roles.table, { id, lockedBy }));
      return (await stateOf(roles.sql, id)) === 'gone';
    },
    async 'complete(tx) of a kind that keeps its rows'(roles, actor) {
      const id = await given(roles.sql).running({ lockedBy });
      const kept = { result: '{}' };
      await roles.as(actor).transaction((tx) => keepIn(tx, roles.table, { id, lockedBy }, kept));
      return (await stateOf(roles.sql, id)) === 'completed';
    },
    async 'release of claims'(roles, actor) {
      const id = await given(roles.sql).running({ lockedBy });
      await releaseClaims(roles.as(actor), roles.table, [lockedBy]);
      return (await stateOf(roles.sql, id)) === 'available';
    },
    async 'look for the dead'(roles, actor) {
      const id = await given(roles.sql).running(dead);
      return (await findDead(roles.as(actor), roles.table)).some((found) => found.id === id);
    },
    rescue: rescuing('available', {}),
    'rescue after the last attempt': rescuing('discarded', { attempts: 10 }),
  },
  reader: readersMoves,
  operator: { ...readersMoves, ...personsMoves },
};

/** What reads, under a registry whose kind can be waited for. */
function readingOf({ tables }: Pick<Roles, 'tables'>) {
  return createQueue(defineJobs({ greet: job().onComplete('keep') }), { tables });
}

const dead = { lockedBy, timeoutS: 1, heartbeatAgoS: 3_600 };

type MakesMove = (
  queue: Queue<typeof registry>,
  db: Executor,
  make: ReturnType<typeof given>,
) => Promise<{ readonly result: string }>;

function moving(move: MakesMove): Move {
  return async ({ tables, sql, as }, actor) => {
    const { result } = await move(createQueue(registry, { tables }), as(actor), given(sql));
    return result === 'done';
  };
}

function finishing(to: string, outcome: Outcome, columns: RunningColumns = {}): Move {
  return async (roles, actor) => {
    const id = await given(roles.sql).running({ lockedBy, ...columns });
    await finish(roles.as(actor), roles.table, [{ id, lockedBy, outcome }]);
    return (await stateOf(roles.sql, id)) === to;
  };
}

function rescuing(to: string, columns: RunningColumns): Move {
  return async (roles, actor) => {
    const id = await given(roles.sql).running({ ...dead, ...columns });
    await rescue(roles.as(actor), roles.table);
    return (await stateOf(roles.sql, id)) === to;
  };
}

async function stateOf(sql: Sql, id: number): Promise<string> {
  return (await row(sql, id))?.state ?? 'gone';
}

/** How a move went: `nothing` is a success that changed nothing, an SQLSTATE is how it was refused. */
export type Outcomes = { readonly [move: string]: string };

/** Makes every move of the role, each on a table without other rows. */
export async function outcomes(roles: Roles, role: QueueRole, actor: Actor = role): Promise<Outcomes> {
  const found: { [move: string]: string } = {};
  for (const [name, move] of Object.entries(moves[role])) {
    await roles.sql`delete from jobs`;
    await roles.sql`delete from job_throttle`;
    await roles.sql`delete from job_limits`;
    found[name] = await move(roles, actor).then(
      (done) => (done ? 'done' : 'nothing'),
      (error: unknown) => sqlState(error) ?? String(error),
    );
  }
  return found;
}

/** The outcomes when every move of the role goes the same way, or all but some. */
export function all(role: QueueRole, outcome: string, except: Outcomes = {}): Outcomes {
  return { ...Object.fromEntries(Object.keys(moves[role]).map((name) => [name, outcome])), ...except };
}

/** What `checkSchema` finds of rights and policies when this actor asks. */
export async function missing(roles: Roles, role: QueueRole, actor: Actor = role): Promise<SchemaProblem[]> {
  const problems = await checkSchema(roles.as(actor), { tables: roles.tables, role });
  return problems.filter(({ code }) => code === 'RIGHT_MISSING' || code === 'POLICY_MISSING');
}
