/** Jobs that are named in their notifications, while the claims of others are still under way: the database holds those up. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { waitingForAdvisory } from '../support/waiting.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);
/** No look of its own accord. */
const asleep = { pollIntervalMs: 60_000, heartbeatMs: 10_000 };

/** A job whose claim waits, from 100 on, until the test lets go of them. */
beforeEach(() =>
  database.sql.unsafe(`
    create function held() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock_shared(7);
      return new;
    end $$;
    create trigger held before update on jobs for each row
      when (new.state = 'running' and (new.payload->>'n')::int >= 100) execute function held()`),
);
afterEach(() => database.sql`drop function if exists held cascade`);

/** Holds claims up until what it gives is called. */
async function holdUp(): Promise<() => Promise<void>> {
  const holder = await database.sql.reserve();
  await holder`select pg_advisory_lock(7)`;
  return async () => {
    await holder`select pg_advisory_unlock(7)`;
    holder.release();
  };
}

/** A worker that listens. */
async function listening(handler: (n: number) => unknown, slots: number) {
  const started = await startTask(async ({ n }) => void (await handler(n)), { ...asleep, slots });
  await until(() => started.seen.listening.length, { what: 'the worker to listen' });
  return started;
}

/** The same, which has looked: its next job is claimed by its id. */
async function sleeping(handler: (n: number) => unknown, slots: number) {
  const started = await listening(handler, slots);
  await started.add(0);
  await until(() => started.seen.completed.length === 1, { what: 'the first job' });
  return started;
}

const heldUp = (claims: number) =>
  until(async () => (await waitingForAdvisory(database.sql)).length === claims, {
    what: `${claims} claims to wait`,
  });

it('start beside a claim that is under way, and beside two', async () => {
  const letGo = await holdUp();
  const { seen, add } = await sleeping(() => {}, 10);
  await add(100);
  await heldUp(1);
  await add(1);
  await until(() => seen.completed.length === 2, { what: 'the one beside it' });
  await add(101);
  await heldUp(2);
  await add(2); // by a look
  await until(() => seen.completed.length === 3, { what: 'the one beside two' });
  await letGo();
  await until(() => seen.completed.length === 5, { what: 'those that were held up' });
  expect(seen).toMatchObject({ lost: [], error: [], released: [] });
});

it('never take a slot that a claim under way may need', async () => {
  const letGo = await holdUp();
  let atOnce = 0;
  let most = 0;
  const { seen, add } = await sleeping(async () => {
    most = Math.max(most, ++atOnce);
    await new Promise((resolve) => setTimeout(resolve, 5));
    atOnce--;
  }, 1);
  await add(100);
  await heldUp(1);
  for (let n = 1; n <= 20; n++) await add(n);
  expect(seen.completed).toHaveLength(1); // no slot was left
  await letGo();
  await until(() => seen.completed.length === 22, { what: 'all' });
  expect(most).toBe(1);
});

it('go back as they came when the worker stops before their claim is answered', async () => {
  const letGo = await holdUp();
  const { worker, seen, add } = await sleeping(() => {}, 10);
  const id = await add(100);
  await heldUp(1);
  const stopped = worker.stop();
  await letGo();
  await stopped;
  expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 0 });
  expect(seen.completed).toHaveLength(1);
});

it('are found by a look after a claim that failed, which is told as an error', async () => {
  // Without a first job, after which it would look again soon.
  const { seen, add } = await listening(() => {}, 10);
  const letGo = await holdUp();
  await add(100);
  await heldUp(1);
  const [backend] = await waitingForAdvisory(database.sql);
  await database.sql`select pg_terminate_backend(${backend ?? 0})`;
  await letGo();
  await until(() => seen.completed.length === 1, { what: 'the job whose claim was killed' });
  expect(seen.error).toContainEqual(expect.objectContaining({ during: 'claim' }));
});
