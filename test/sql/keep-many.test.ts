/** The `complete` move for many jobs that are kept: each is answered for itself, in the order asked, and has its own result. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type KeptClaim, keepMany } from '../../src/sql/keep-many.js';
import { useDatabase } from '../support/database.js';
import { fill, given, row, table, verbatim, whileHeld } from '../support/jobs.js';

const database = useDatabase();
const lockedBy = 'worker/1';

beforeEach(() => database.sql`truncate jobs`);
afterEach(() => database.sql`drop function if exists on_update cascade`);

const keep = (...claims: KeptClaim[]) => keepMany(database.db, table, claims);
const claimOf = (id: number, result?: unknown, by = lockedBy): KeptClaim => ({
  id,
  lockedBy: by,
  result: result === undefined ? undefined : JSON.stringify(result),
});
const answer = (id: number, result: string, by = lockedBy) => ({
  id,
  lockedBy: by,
  result,
  state: result === 'done' ? 'completed' : null,
  dueInMs: null,
});

/** Has Postgres run `body` before each update of a job. */
async function onUpdate(body: string): Promise<void> {
  await database.sql.unsafe(`
    create function on_update() returns trigger language plpgsql as $$ begin ${body} return new; end $$;
    create trigger on_update before update on jobs for each row execute function on_update()`);
}

it('leaves the jobs completed, each with its result, and says so in the order asked', async () => {
  const ids = await fill(database.sql).running(20, { lockedBy, lastError: 'no luck', attempts: 2 });
  const other = await given(database.sql).running({ lockedBy: 'worker/2' });
  const shuffled = ids.map((id, n) => ({ id, by: (n * 7) % 20 })).sort((a, b) => a.by - b.by);

  const answers = await keep(...shuffled.map(({ id }) => claimOf(id, { id })));

  expect(answers).toEqual(shuffled.map(({ id }) => answer(id, 'done')));
  for (const id of ids) {
    expect(await row(database.sql, id)).toMatchObject({
      state: 'completed',
      result: { id },
      attempts: 2,
      lastError: 'no luck',
      lockedBy: null,
      heartbeatAt: null,
      startedAt: null,
      finishedAt: expect.any(Date),
    });
  }
  expect(await row(database.sql, other)).toMatchObject({ state: 'running', result: null });
});

it('stores what JSON can say, and nothing where there is none', async () => {
  const results = [
    null,
    0,
    false,
    '',
    'null',
    [],
    {},
    [[undefined, 1].map((one) => one ?? null)],
    '{a} "b" \\ \n 😀',
    undefined,
  ];
  const ids = await fill(database.sql).running(results.length, { lockedBy });
  await keep(...ids.map((id, n) => claimOf(id, results[n])));
  const stored = await database.sql`select result::text as text from jobs order by id`;
  expect(stored.map(({ text }) => (text === null ? undefined : JSON.parse(text)))).toEqual(results);
});

it('says of each what became of it, wherever it stands among the others', async () => {
  const { running, available, discarded, completed } = given(database.sql);
  await onUpdate(`if old.kind = 'kept' then return null; end if;`);
  const [done, busy, refused, taken, waiting, ended, over, last] = [
    await running({ lockedBy }),
    await running({ lockedBy }),
    await running({ lockedBy, kind: 'kept' }),
    await running({ lockedBy: 'worker/9' }),
    await available(),
    await discarded(),
    await completed(),
    await running({ lockedBy }),
  ];
  const expected = [
    answer(last, 'done'),
    answer(ended, 'lost'),
    answer(busy, 'busy'),
    answer(last + 1_000, 'gone'),
    answer(taken, 'lost'),
    answer(over, 'gone'),
    answer(refused, 'refused'),
    answer(waiting, 'lost'),
    answer(done, 'done'),
  ];
  const left = [busy, refused, taken, waiting, ended, over];
  const before = await Promise.all(left.map((id) => verbatim(database.sql, id)));

  const answers = await whileHeld(database.sql, [busy], () =>
    keep(...expected.map(({ id }) => claimOf(id, 'mine'))),
  );

  expect(answers).toEqual(expected);
  const after = await Promise.all(left.map((id) => verbatim(database.sql, id)));
  expect(left.filter((_, n) => before[n] !== after[n])).toEqual([]);
  expect(await row(database.sql, done)).toMatchObject({ state: 'completed', result: 'mine' });
  expect(await row(database.sql, last)).toMatchObject({ state: 'completed', result: 'mine' });
});

describe('two claims of one job', () => {
  it.each([
    ['first', 0],
    ['last', 1],
  ])('with the one that has it %s: its result stays, the other is lost', async (_, at) => {
    const id = await given(database.sql).running({ lockedBy: 'worker/2' });
    const asked = [claimOf(id, 'late', 'worker/1')];
    asked.splice(1 - at, 0, claimOf(id, 'in time', 'worker/2'));

    const answers = await keep(...asked);

    expect(answers.map(({ lockedBy: by, result }) => `${by} ${result}`).sort()).toEqual([
      'worker/1 lost',
      'worker/2 done',
    ]);
    expect(await row(database.sql, id)).toMatchObject({ state: 'completed', result: 'in time' });
  });
});

it('a claim that is asked again finds its job gone from it, and changes nothing', async () => {
  const id = await given(database.sql).running({ lockedBy });
  expect(await keep(claimOf(id, 1))).toEqual([answer(id, 'done')]);
  const before = await verbatim(database.sql, id);
  expect(await keep(claimOf(id, 2))).toEqual([answer(id, 'gone')]);
  expect(await verbatim(database.sql, id)).toBe(before);
});

it('frees the dedupe key', async () => {
  const id = await given(database.sql).running({ lockedBy, dedupeKey: 'k' });
  await keep(claimOf(id));
  await expect(given(database.sql).available({ dedupeKey: 'k' })).resolves.toBeGreaterThan(id);
});

it('nothing is asked and nothing is sent for no jobs', async () => {
  expect(await keep()).toEqual([]);
});

it('one row that the database refuses with an error fails all of them, and none is changed', async () => {
  const ids = await fill(database.sql).running(3, { lockedBy });
  await onUpdate(`if old.id = ${ids[1]} then raise exception 'no' using errcode = 'P0001'; end if;`);
  await expect(keep(...ids.map((id) => claimOf(id, 1)))).rejects.toMatchObject({ cause: { code: 'P0001' } });
  expect(await database.sql`select 1 from jobs where state = 'running' and result is null`).toHaveLength(3);
});
