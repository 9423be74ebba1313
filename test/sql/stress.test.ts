/**
 * Every statement of a worker at once, on connections of their own, beside an app that updates the same rows: every
 * job is finished exactly once, none is left, and no statement fails, least of all with a deadlock.
 */
import { setImmediate as immediate } from 'node:timers/promises';
import { sql as raw } from 'drizzle-orm';
import { beforeAll, expect, it } from 'vitest';
import type { Executor } from '../../src/database/executor.js';
import { sqlState } from '../../src/database/sqlstate.js';
import { claim } from '../../src/sql/claim.js';
import type { Finished } from '../../src/sql/finished.js';
import { heartbeat } from '../../src/sql/heartbeat.js';
import { rescue } from '../../src/sql/rescue.js';
import { withClients } from '../support/clients.js';
import { useDatabase } from '../support/database.js';
import { type Finish, finish } from '../support/finish.js';
import { fill, table, untilServerHasRunFor } from '../support/jobs.js';

const database = useDatabase();
const jobs = 5_000;

beforeAll(() => untilServerHasRunFor(database.sql, 1.5));

it('finishes each of 5,000 jobs once, with no error', { timeout: 60_000 }, async () => {
  const ids = await fill(database.sql).available(jobs, { timeoutS: 1, maxAttempts: 1_000 });
  const crowd = createCrowd();

  await withClients(database.url, 9, async ([heart, rescuer, app, ...workers]) => {
    if (!heart || !rescuer || !app) throw new Error('Nine clients are needed.');
    await Promise.all([
      ...workers.map((db, n) => crowd.work(db, `worker-${n}`)),
      crowd.repeat('heartbeat', () => heartbeat(heart, table, [...crowd.held])),
      crowd.repeat('rescue', async () => crowd.rescued.push(...(await rescue(rescuer, table)))),
      crowd.repeat('touch', () => touch(app)),
    ]);
  });

  expect(crowd.failures).toEqual([]);
  expect(crowd.completed.sort(ascending)).toEqual(ids.sort(ascending));
  await expect(database.sql`select * from jobs`).resolves.toEqual([]);
  // Else the statements did not meet.
  expect(crowd.answers.size).toBeGreaterThan(2);
  expect(crowd.rescued.length).toBeGreaterThanOrEqual(crowd.forgotten);
});

function createCrowd() {
  /** What the workers have, for the heartbeats. */
  const held = new Set<Finish>();
  const completed: number[] = [];
  const rescued: unknown[] = [];
  const failures: string[] = [];
  /** How often each result of a finish came. */
  const answers = new Map<string, number>();
  const deadline = performance.now() + 30_000;
  const over = () => completed.length >= jobs || failures.length > 0 || performance.now() > deadline;

  async function repeat(what: string, statement: () => PromiseLike<unknown>): Promise<void> {
    while (!over()) {
      try {
        await immediate(); // a heartbeat for nobody sends no SQL, and would let nothing else run
        await statement();
      } catch (error) {
        failures.push(`${what}: ${sqlState(error) ?? String(error)}`);
      }
    }
  }

  /** Claims 20, forgets one in fifty as if it had died, and finishes about half of what it has in random order. */
  async function work(db: Executor, worker: string): Promise<void> {
    let claims = 0;
    const mine: Finish[] = [];
    await repeat('claim or finish', async () => {
      const lockedBy = `${worker}/${++claims}`;
      const want = new Map([['default', 20]]);
      for (const { id } of (await claim(db, table, { want, kinds: ['greet'], lockedBy })).jobs) {
        if (Math.random() < 0.02) crowd.forgotten++;
        else mine.push({ id, lockedBy, outcome: outcome() });
      }
      for (const job of mine) held.add(job);
      mine.sort(() => Math.random() - 0.5);
      const batch = mine.splice(0, Math.ceil(mine.length / 2));
      for (const answer of await finish(db, table, batch)) {
        const sent = batch.find((one) => one.id === answer.id && one.lockedBy === answer.lockedBy);
        if (sent) settle(sent, answer, mine);
      }
    });
  }

  function settle(sent: Finish, { result, state }: Finished, mine: Finish[]): void {
    const what = `${sent.outcome.move} ${result}`;
    answers.set(what, (answers.get(what) ?? 0) + 1);
    if (result === 'busy') {
      mine.push(sent);
      return;
    }
    held.delete(sent);
    if (result === 'done' && state === null) completed.push(sent.id);
  }

  const crowd = { held, completed, rescued, failures, answers, forgotten: 0, repeat, work };
  return crowd;
}

function outcome(): Finish['outcome'] {
  return Math.random() < 0.1 ? { move: 'fail', error: 'no luck', delayMs: 0 } : { move: 'complete' };
}

/** What an app may do to its rows by plain SQL, running ones too; it brings retries forward, so that the test ends soon. */
async function touch(app: Executor): Promise<void> {
  await app.execute(raw`
    with some_jobs as (select id from jobs where id % 7 = ${Math.floor(Math.random() * 7)} order by id limit 300 for update)
    update jobs set meta = '{"touched": true}', run_at = least(run_at, now()) where id in (select id from some_jobs)`);
}

function ascending(a: number, b: number): number {
  return a - b;
}
