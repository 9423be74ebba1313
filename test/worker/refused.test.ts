/** Jobs that the database does not let become running: they stand in nobody's way, and are named. */
import { afterEach, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { fill, row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

/** Has Postgres run `body` whenever a job with an id divisible by `n` would become running. */
async function atEveryStart(n: number, body: string): Promise<void> {
  await database.sql.unsafe(`
    create function at_start() returns trigger language plpgsql as $$ begin
      ${body}
    end $$;
    create trigger at_start before update on jobs for each row
      when (new.state = 'running' and old.state = 'available' and old.id % ${n} = 0) execute function at_start()`);
}
afterEach(() => database.sql`drop function if exists at_start cascade`);

const ways = {
  'a trigger that raises': "raise exception 'not this one' using errcode = 'P0001';",
  'a trigger that breaks a rule': "raise exception 'not this one' using errcode = '23514';",
  'a trigger that returns null': 'return null;',
};

describe.each(Object.entries(ways))('by %s', (_way, body) => {
  it.each([1, 2, 100])('hold up no other job, with %i slots', async (slots) => {
    const ids = await fill(database.sql).available(30, { kind: 'task' });
    const bad = ids.filter((id) => id % 5 === 0);
    await atEveryStart(5, body);

    const { seen } = await startTask(() => {}, { slots });
    await until(() => seen.completed.length === ids.length - bad.length, { what: 'the others' });

    const named = () => seen.error.flatMap(({ error }) => (error as { data: { ids: number[] } }).data.ids);
    await until(() => named().length >= bad.length, { what: 'each to be named' });
    expect(named().sort((a, b) => a - b)).toEqual(bad);
    expect(seen.error[0]).toEqual({
      during: 'claim',
      retryInMs: 60_000,
      error: expect.objectContaining({
        code: 'CHANGE_REFUSED',
        message: expect.stringMatching(
          /^Postgres did not let (job \d+|\d+ jobs, \d+ among them,) become running (\(.*not this one.*\)|and gave no reason.*)\.$/,
        ),
      }),
    });
    for (const id of bad)
      expect(await row(database.sql, id)).toMatchObject({ state: 'available', attempts: 0 });
    expect(seen).toMatchObject({ failed: [], lost: [], rescued: [] });
  });
});

it('say so once a look where all are refused, and start when the database lets them', async () => {
  await fill(database.sql).available(40, { kind: 'task' });
  await atEveryStart(1, ways['a trigger that raises']);
  const { seen } = await startTask(() => {}, { slots: 20 });
  await until(() => seen.error.length === 2, { what: 'two looks' });
  const counts = seen.error.map(({ error }) => (error as { data: { ids: number[] } }).data.ids.length);
  expect(counts).toEqual([20, 20]);

  await database.sql`drop function at_start cascade`;
  const [id] = await fill(database.sql).available(1, { kind: 'task' });
  await until(() => seen.completed.length, { what: 'a new job' });
  expect(seen.completed[0]?.job.id).toBe(id);
});
