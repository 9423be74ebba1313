/** What must not cost a live worker its jobs, and one bad row the others theirs. */
import { afterEach, beforeAll, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { given, row, untilServerHasRunFor } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

beforeAll(() => untilServerHasRunFor(database.sql, 2));
afterEach(() => database.sql`drop function if exists refuse cascade`);

it('a transaction that held its rows past the rescue limit and was rolled back', async () => {
  const [inside, go] = [createGate(), createGate()];
  let holding = 0;
  const { add, seen } = await startTask(
    async (_, job) => {
      if (job.attempt > 1) return;
      await database.db
        .transaction(async (tx) => {
          await job.complete(tx);
          if (++holding === 5) inside.open();
          await go.passed;
          throw new Error('rolled back');
        })
        .catch(() => {});
      await finished.passed;
    },
    { rescueAfterMs: 1_000, retry: () => 0 },
  );
  const finished = createGate();
  const ids = await Promise.all([1, 2, 3, 4, 5].map((n) => add(n)));
  await inside.passed;
  const other = await startTask(() => undefined, { rescueAfterMs: 1_000 });
  const old = () => database.sql`
    select 1 from jobs where id = ${ids[0] ?? 0} and heartbeat_at < clock_timestamp() - interval '1.5 seconds'`;
  await until(async () => (await old()).length, { what: 'heartbeats older than the limit' });

  go.open();
  const renewed = () => database.sql`
    select 1 from jobs where state = 'running' and heartbeat_at > clock_timestamp() - interval '0.5 seconds'`;
  await until(async () => (await renewed()).length === 5, { what: 'the next heartbeats' });
  finished.open();
  await until(() => seen.completed.length + other.seen.completed.length === 5, { what: 'all jobs' });

  expect([...seen.lost, ...seen.rescued, ...other.seen.rescued]).toEqual([]);
  expect(seen.failed).toHaveLength(5);
});

it('a row that the database refuses to rescue does not keep the others dead', async () => {
  await database.sql.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin
      if old.kind = 'poison' then raise exception 'refused'; end if;
      return new;
    end $$;
    create trigger refuse before update on jobs for each row execute function refuse()`);
  const dead = { heartbeatAgoS: 3_600, timeoutS: 1 };
  const before = await given(database.sql).running({ ...dead, kind: 'unheard of' });
  const poison = await given(database.sql).running({ ...dead, kind: 'poison' });
  const after = await given(database.sql).running({ ...dead, kind: 'unheard of' });
  const { seen } = await startTask(() => undefined);

  await until(() => seen.rescued.length === 2, { what: 'the rescue of the others' });

  expect(seen.rescued.map(({ id }) => id).sort()).toEqual([before, after].sort());
  expect(await row(database.sql, poison)).toMatchObject({ state: 'running' });
  await until(() => seen.error.length, { what: 'word of the one' });
  expect(seen.error[0]).toMatchObject({ during: 'rescue' });
});

it('a row that the database refuses to renew does not keep the others from their heartbeats', async () => {
  const go = createGate();
  const { add, seen } = await startTask(() => go.passed, { rescueAfterMs: 1_000 });
  const ids = await Promise.all([add(1), add(2), add(3)]);
  await until(() => seen.claimed.flatMap(({ jobs }) => jobs).length === 3, { what: 'the claims' });
  await database.sql.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin
      if old.id = ${ids[1]} then raise exception 'refused'; end if;
      return new;
    end $$;
    create trigger refuse before update of heartbeat_at on jobs for each row
      when (new.state = 'running') execute function refuse()`);

  const renewed = () => database.sql`
    select 1 from jobs where id <> ${ids[1] ?? 0} and heartbeat_at > started_at + interval '1.5 seconds'`;
  await until(async () => (await renewed()).length === 2, { what: 'heartbeats of the others' });
  await database.sql`drop function refuse cascade`;
  go.open();
  await until(() => seen.completed.length + seen.lost.length === 3, { what: 'all ends' });
});
