/**
 * The README's story with real processes: jobs that exist if and only if their transaction commits, and that run to
 * their end although the workers that have them are killed.
 */
import { integer, pgTable } from 'drizzle-orm/pg-core';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { createQueue } from '../src/queue/queue.js';
import { useDatabase } from './support/database.js';
import { row } from './support/jobs.js';
import { until } from './support/until.js';
import { useProcesses } from './support/worker-process.js';
import { registry } from './worker/fixtures/task-registry.js';
import type { Message } from './worker/fixtures/task-worker.js';
import { useWorkers } from './worker/stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);
const processes = useProcesses();
const { enqueue, enqueueMany } = createQueue(registry);
const orders = pgTable('orders', { id: integer('id').primaryKey() });

beforeAll(async () => {
  await database.sql`create table orders (id int primary key)`;
  await database.sql`create table ledger (job bigint, attempt int, pid int)`;
  // Everything that ends a run of a job, whoever does it.
  await database.sql`create table ended (job bigint, locked_by text, state text)`;
  await database.sql.unsafe(`
    create function note_end() returns trigger language plpgsql as $$ begin
      if tg_op = 'DELETE' then
        insert into ended values (old.id, old.locked_by, 'gone');
      elsif new.state <> 'running' then
        insert into ended values (old.id, old.locked_by, new.state);
      end if;
      return null;
    end $$;
    create trigger note_end after delete or update on jobs for each row
      when (old.state = 'running') execute function note_end()`);
  await database.sql`alter table jobs disable trigger note_end`;
});
beforeEach(() => database.sql`truncate orders, ledger, ended`);

it('a job enqueued in a transaction exists, and runs, once that commits', async () => {
  const ran: number[] = [];
  const { add, seen } = await startTask(({ n }) => void ran.push(n));

  await database.db.transaction(async (tx) => {
    await tx.insert(orders).values({ id: 1 });
    await enqueue(tx, 'task', { n: 1, does: 'end' });
    // Another job, enqueued and run meanwhile, shows that the first one was not there to be claimed.
    await add(2);
    await until(() => seen.completed.length, { what: 'the other job' });
  });

  await until(() => seen.completed.length === 2, { what: 'both jobs' });
  expect(ran).toEqual([2, 1]);
  await expect(database.sql`select * from jobs`).resolves.toEqual([]);
});

it('a rollback leaves neither the row nor the job', async () => {
  const failing = database.db.transaction(async (tx) => {
    await tx.insert(orders).values({ id: 1 });
    await enqueue(tx, 'task', { n: 1, does: 'end' });
    throw new Error('no');
  });

  await expect(failing).rejects.toThrow('no');
  await expect(database.sql`select id from orders union all select id from jobs`).resolves.toEqual([]);
});

it('a job whose worker was killed is rescued and run by another', async () => {
  const { id } = await enqueue(database.db, 'task', { n: 1, does: 'wait' });
  const child = startChild();
  await child.message((message) => message.event === 'handling', 'the job to be started');
  child.kill('SIGKILL');
  await child.exit;
  await putIntoThePast();

  const attempts: number[] = [];
  const { seen } = await startTask((_, { attempt }) => void attempts.push(attempt));

  await until(() => seen.rescued.length, { what: 'the rescue' });
  expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 1 });
  await putIntoThePast();
  await until(() => seen.completed.length, { what: 'the second run' });
  expect(attempts).toEqual([2]);
});

it('a job that kills its worker every time ends in discarded after max_attempts starts', async () => {
  const { id } = await enqueue(database.db, 'task', { n: 1, does: 'die' });
  const ended = async () => (await row(database.sql, id))?.state === 'discarded';

  // A process manager, which starts a worker whenever one has died.
  let child = startChild();
  let deaths = 0;
  await until(
    async () => {
      if (child.exited()) {
        deaths++;
        child = startChild();
      }
      await putIntoThePast();
      return ended();
    },
    { what: 'the job to be given up', timeoutMs: 25_000 },
  );

  expect(deaths).toBe(3);
  await expect(database.sql`select attempt from ledger order by attempt`).resolves.toEqual(
    [1, 2, 3].map((attempt) => ({ attempt })),
  );
  const job = await row(database.sql, id);
  expect(job).toMatchObject({ attempts: 3, lastError: expect.stringContaining('no heartbeat') });
  expect(job?.errors).toHaveLength(3);
});

it('two processes share 2,000 jobs, and the death of one loses none and ends none twice', async () => {
  await database.sql`alter table jobs enable trigger note_end`;
  const list = Array.from(
    { length: 2_000 },
    (_, n) => ({ kind: 'task', payload: { n, does: 'end' } }) as const,
  );
  const [doomed, other] = [startChild(), startChild()];
  for (const child of [doomed, other]) await child.message(({ event }) => event === 'started', 'its start');
  await enqueueMany(database.db, list);

  const handled = () => doomed.messages.filter(({ event }) => event === 'handled').length;
  await until(() => handled() > 100, { what: 'the doomed process to be at work' });
  doomed.kill('SIGKILL');
  await doomed.exit;
  await until(
    async () => {
      await putIntoThePast(doomed.pid);
      const [left] = await database.sql`select count(*)::int as n from jobs`;
      return left?.n === 0;
    },
    { what: 'every job to end', timeoutMs: 25_000 },
  );

  const [count] = await database.sql`
    select (select count(distinct job)::int from ledger)                                       as ran,
           (select count(*)::int from ended where state = 'gone')                              as completed,
           (select count(*)::int from (select from ended group by job, locked_by having count(*) > 1) as x) as twice,
           (select count(*) > 0 from ended where state = 'available')                          as rescued,
           (select count(distinct pid)::int from ledger)                                       as workers`;
  expect(count).toEqual({ ran: 2_000, completed: 2_000, twice: 0, rescued: true, workers: 2 });
});

const startChild = () => processes.start<Message>('task-worker', { url: database.url });

/** Waits for retries are over; so are the heartbeats of running jobs, of one process where it is named. */
async function putIntoThePast(pid?: number): Promise<void> {
  await database.sql`
    update jobs
    set    run_at       = now() - interval '1 minute',
           heartbeat_at = case when state = 'running' and (${pid ?? null}::int is null or locked_by like '%-' || ${pid ?? null}::int || '-%')
                               then heartbeat_at - interval '1 hour' else heartbeat_at end
    where  (state = 'available' and run_at > now()) or state = 'running'`;
}
