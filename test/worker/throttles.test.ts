/** A worker deletes the rows of throttles whose period is over, where it may, and works all the same where it may not. */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterEach, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

afterEach(() => database.sql`truncate job_throttle`);

/** So many rows, of which the first has been over for ten minutes and a bit, each next one for 100 s more. */
const over = (count: number) => database.sql`
  insert into job_throttle (kind, key, until)
  select 'task', 'key ' || i, now() - interval '610 s' - i * interval '100 s' from generate_series(0, ${count - 1}::int) as i`;
const left = async () =>
  (await database.sql<{ key: string }[]>`select key from job_throttle order by key`).map(({ key }) => key);

/** Through which the worker sends its statements, with all that it has sent. */
async function logging<Result>(
  work: (db: ReturnType<typeof drizzle>, sent: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const client = postgres(database.url, { onnotice: () => {} });
  const sent: string[] = [];
  try {
    return await work(drizzle({ client, logger: { logQuery: (query) => void sent.push(query) } }), sent);
  } finally {
    await client.end({ timeout: 5 });
  }
}

it('when it starts, as many as there are', async () => {
  await over(2_500);
  await database.sql`
    insert into job_throttle (kind, key, until)
    values ('task', 'begun', now() + interval '1 h'), ('task', 'just over', now() - interval '1 s')`;
  const { worker, seen } = await startTask(() => {});
  await until(async () => (await left()).length === 2, { what: 'the rows to go' });
  expect(await left()).toEqual(['begun', 'just over']);
  await worker.stop();
  expect(seen).toMatchObject({ problem: [], error: [] });
});

it('not where the app gave no such table', async () => {
  await over(1);
  await logging(async (db, sent) => {
    const { worker, seen, add } = await startTask(() => {}, { db, withoutThrottles: true });
    await add(1);
    await until(() => seen.completed.length && sent.some((query) => query.includes('pg_options_to_table')), {
      what: 'the job and the check',
    });
    await worker.stop();
    expect(sent.filter((query) => query.includes('job_throttle'))).toEqual([]);
    expect(seen).toMatchObject({ problem: [], error: [] });
  });
  expect(await left()).toEqual(['key 0']);
});

it('nor where the database has none: that is a warning, and no statement fails', async () => {
  await database.sql`alter table job_throttle rename to elsewhere`;
  try {
    await logging(async (db, sent) => {
      const { worker, seen, add } = await startTask(() => {}, { db });
      await add(1);
      await until(() => seen.completed.length && seen.problem.length, { what: 'the job and the problem' });
      await worker.stop();
      expect(seen.problem).toMatchObject([
        {
          code: 'TABLE_MISSING',
          severity: 'warning',
          object: 'table "public"."job_throttle"',
          message: expect.stringContaining(
            "without which `onDuplicate: 'throttle'` fails. Run: npx drizzle-kit generate",
          ),
        },
      ]);
      expect(sent.filter((query) => query.includes('has_any_column_privilege'))).toHaveLength(1);
      expect(sent.filter((query) => /delete from "public"."job_throttle"/.test(query))).toEqual([]);
      expect(seen.error).toEqual([]);
    });
  } finally {
    await database.sql`alter table elsewhere rename to job_throttle`;
  }
});

it('tells of what Postgres refuses, and works on', async () => {
  await over(1);
  await database.sql.unsafe(`
    create function keeps() returns trigger language plpgsql as $$ begin raise exception 'this stays'; end $$;
    create trigger keeps before delete on job_throttle for each row execute function keeps()`);
  try {
    const { worker, seen, add } = await startTask(() => {});
    await until(() => seen.error.length, { what: 'the error' });
    await add(1);
    await until(() => seen.completed.length, { what: 'the job' });
    await worker.stop();
    expect(seen.error).toMatchObject([{ during: 'throttle' }]);
    expect(await left()).toEqual(['key 0']);
  } finally {
    await database.sql`drop function keeps cascade`;
  }
});
