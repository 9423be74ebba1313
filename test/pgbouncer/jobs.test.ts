/** Forty clients' connections over two of the server: enqueuing in transactions, and workers from start to stop. */
import { describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { useProcesses } from '../support/worker-process.js';
import { registry as childRegistry } from '../worker/fixtures/task-registry.js';
import type { Message } from '../worker/fixtures/task-worker.js';
import { type Task, useWorkers } from '../worker/stage.js';
import { callers, clients, usePooler } from './stage.js';

const poolSize = 2;
const used = usePooler({ poolSize });
const { startTask } = useWorkers(used.direct);
const processes = useProcesses();
const { enqueue, enqueueMany } = createQueue(defineJobs({ task: job<Task>({ retry: () => 0 }) }));
const rollback = new Error('rolled back on purpose');
const eachCaller = <Result>(work: (caller: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)));

describe.each(clients)('on %s', (client) => {
  it('jobs run once if their transaction commits, and never if it rolls back', async () => {
    const db = used.db(client);
    const [ran, committed]: [number[], number[]] = [[], []];
    const { seen } = await startTask(({ n }) => void ran.push(n), { db, slots: 20 });

    await eachCaller(async (caller) => {
      for (const round of [0, 1, 2]) {
        const [first, second, third] = [0, 1, 2].map((i) => caller * 100 + round * 10 + i) as [0, 1, 2];
        const transaction = db.transaction(async (tx) => {
          await enqueue(tx, 'task', { n: first });
          await enqueueMany(tx, [
            { kind: 'task', payload: { n: second } },
            { kind: 'task', payload: { n: third } },
          ]);
          if ((caller + round) % 3 === 0) throw rollback;
        });
        await transaction.then(
          () => committed.push(first, second, third),
          (error: unknown) => expect(error).toBe(rollback),
        );
      }
    });
    await untilNoneLeft();

    expect(committed).toHaveLength(callers * 2 * 3);
    expect(sorted(ran)).toEqual(sorted(committed));
    expect(seen.error).toEqual([]);
    expect(await connections('SHOW CLIENTS')).toBeGreaterThanOrEqual(callers);
    expect(await connections('SHOW SERVERS')).toBeLessThanOrEqual(poolSize);
  });

  it('handlers complete in transactions of their own, fail and snooze, more of them than connections', async () => {
    const db = used.db(client);
    const snoozed = new Set<number>();
    const ends: string[] = [];
    const { seen, worker } = await startTask(
      async ({ n }, run) => {
        if (n % 4 === 1 && run.attempt === 1) throw new Error('the first attempt fails');
        if (n % 4 === 2 && !snoozed.has(n)) {
          snoozed.add(n);
          return run.snooze({ delayMs: 1 });
        }
        if (n % 4 === 3) await db.transaction((tx) => run.complete(tx));
      },
      { db, slots: callers, retry: () => 0 },
    );
    for (const end of ['completed', 'failed', 'snoozed'] as const) worker.on(end, () => ends.push(end));

    await eachCaller((n) => enqueue(db, 'task', { n }));
    await untilNoneLeft();
    await worker.stop();

    const count = (end: string) => ends.filter((each) => each === end).length;
    expect([count('completed'), count('failed'), count('snoozed')]).toEqual([callers, 10, 10]);
    expect([seen.error, seen.lost, seen.unknown]).toEqual([[], [], []]);
  });

  it('the job of a killed worker is rescued and run by another', async () => {
    const { id } = await createQueue(childRegistry).enqueue(used.db(client), 'task', { n: 1, does: 'wait' });
    const driver = client === 'node-postgres' ? client : 'postgres.js';
    const child = processes.start<Message>('task-worker', { url: used.pooler.url, driver });
    await child.message(({ event }) => event === 'handling', 'the job to be started');
    child.kill('SIGKILL');
    await child.exit;
    const { sql } = used.direct;
    await sql`update jobs set heartbeat_at = heartbeat_at - interval '1 hour'`;

    const attempts: number[] = [];
    const { seen } = await startTask((_, { attempt }) => void attempts.push(attempt), {
      db: used.db(client),
    });

    await until(() => seen.rescued.length, { what: 'the rescue' });
    expect(await row(sql, id)).toMatchObject({ state: 'available', attempts: 1 });
    await sql`update jobs set run_at = now()`;
    await until(() => seen.completed.length, { what: 'the second run' });
    expect(attempts).toEqual([2]);
  });

  it('a stop gives back what still runs', async () => {
    const db = used.db(client);
    const { worker, seen } = await startTask((_, { signal }) => aborted(signal), { db, slots: callers });
    await eachCaller((n) => enqueue(db, 'task', { n }));
    const running = () => seen.claimed.flatMap(({ jobs }) => jobs).length;
    await until(() => running() === callers, { what: 'every job to run' });

    await worker.stop({ graceMs: 0 });

    expect(seen.stopped).toEqual([{ unwritten: 0 }]);
    const left = await used.direct.sql`
      select state, attempts, count(*)::int as jobs from jobs group by state, attempts`;
    expect(left).toEqual([{ state: 'available', attempts: 1, jobs: callers }]);
  });
});

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

function untilNoneLeft(): Promise<boolean> {
  const { sql } = used.direct;
  return until(async () => (await sql`select from jobs`).length === 0, { what: 'every job to end' });
}

/** How many there are to this file's database. */
async function connections(command: 'SHOW CLIENTS' | 'SHOW SERVERS'): Promise<number> {
  const name = new URL(used.direct.url).pathname.slice(1);
  return (await used.pooler.command(command)).filter(({ database }) => database === name).length;
}

function sorted(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}
