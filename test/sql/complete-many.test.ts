/** The `complete` move for many jobs at once: each is answered for itself, in the order asked. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { completeMany } from '../../src/sql/complete-many.js';
import { useDatabase } from '../support/database.js';
import { fill, given, row, table, verbatim, whileHeld } from '../support/jobs.js';

const database = useDatabase();
const lockedBy = 'worker/1';

beforeEach(() => database.sql`truncate jobs`);
afterEach(() => database.sql`drop function if exists on_delete cascade`);

const complete = (...claims: { id: number; lockedBy: string }[]) => completeMany(database.db, table, claims);
const answer = (id: number, result: string, by = lockedBy) => ({
  id,
  lockedBy: by,
  result,
  state: null,
  dueInMs: null,
});

/** Has Postgres run `body` before each delete of a job. */
async function onDelete(body: string): Promise<void> {
  await database.sql.unsafe(`
    create function on_delete() returns trigger language plpgsql as $$ begin ${body} return old; end $$;
    create trigger on_delete before delete on jobs for each row execute function on_delete()`);
}

it('deletes the jobs and says so in the order asked', async () => {
  const ids = await fill(database.sql).running(20, { lockedBy });
  const other = await given(database.sql).running({ lockedBy: 'worker/2' });
  const shuffled = ids.map((id, n) => ({ id, by: (n * 7) % 20 })).sort((a, b) => a.by - b.by);

  const answers = await complete(...shuffled.map(({ id }) => ({ id, lockedBy })));

  expect(answers).toEqual(shuffled.map(({ id }) => answer(id, 'done')));
  expect(await database.sql`select id::float8 as id from jobs`).toEqual([{ id: other }]);
});

it('says of each what became of it, wherever it stands among the others', async () => {
  const { running, available, discarded } = given(database.sql);
  await onDelete(`if old.kind = 'kept' then return null; end if;`);
  const [done, busy, refused, taken, waiting, ended, last] = [
    await running({ lockedBy }),
    await running({ lockedBy }),
    await running({ lockedBy, kind: 'kept' }),
    await running({ lockedBy: 'worker/9' }),
    await available(),
    await discarded(),
    await running({ lockedBy }),
  ];
  const expected = [
    answer(last, 'done'),
    answer(ended, 'lost'),
    answer(busy, 'busy'),
    answer(last + 1_000, 'gone'),
    answer(taken, 'lost'),
    answer(refused, 'refused'),
    answer(waiting, 'lost'),
    answer(done, 'done'),
  ];
  const left = [busy, refused, taken, waiting, ended];
  const before = await Promise.all(left.map((id) => verbatim(database.sql, id)));

  const answers = await whileHeld(database.sql, [busy], () => complete(...expected));

  expect(answers).toEqual(expected);
  const after = await Promise.all(left.map((id) => verbatim(database.sql, id)));
  const changed = left.filter((_, n) => before[n] !== after[n]);
  expect(changed).toEqual([]);
  expect(await row(database.sql, done)).toBeUndefined();
  expect(await row(database.sql, last)).toBeUndefined();
});

describe('two claims of one job', () => {
  it.each([
    ['first', 0],
    ['last', 1],
  ])('with the one that has it %s: that is done, the other lost', async (_, at) => {
    const id = await given(database.sql).running({ lockedBy: 'worker/2' });
    const asked = [answer(id, 'lost', 'worker/1')];
    asked.splice(1 - at, 0, answer(id, 'done', 'worker/2'));

    expect(await complete(...asked)).toEqual(asked);
    expect(await row(database.sql, id)).toBeUndefined();
  });

  it('neither of which has it: both are lost', async () => {
    const id = await given(database.sql).running({ lockedBy: 'worker/3' });
    const asked = [answer(id, 'lost', 'worker/1'), answer(id, 'lost', 'worker/2')];
    expect(await complete(...asked)).toEqual(asked);
  });
});

it('a claim that is asked twice is done once', async () => {
  const id = await given(database.sql).running({ lockedBy });
  expect(await complete({ id, lockedBy }, { id, lockedBy })).toEqual([
    answer(id, 'done'),
    answer(id, 'done'),
  ]);
  expect(await complete({ id, lockedBy })).toEqual([answer(id, 'gone')]);
});

it('what was busy is done when it is asked again, and lost when its row was moved meanwhile', async () => {
  const [stays, moves] = await fill(database.sql).running(2, { lockedBy });
  if (!stays || !moves) throw new Error('two were made');
  const both = [
    { id: moves, lockedBy },
    { id: stays, lockedBy },
  ];
  await whileHeld(database.sql, [stays, moves], async (holder) => {
    expect(await complete(...both)).toEqual([answer(moves, 'busy'), answer(stays, 'busy')]);
    await holder`update jobs set locked_by = 'worker/2' where id = ${moves}`;
    await holder`commit`;
    await holder`begin`;
  });
  expect(await complete(...both)).toEqual([answer(moves, 'lost'), answer(stays, 'done')]);
});

it('nothing is asked and nothing is sent for no jobs', async () => {
  expect(await complete()).toEqual([]);
});

it('one row that the database refuses with an error fails all of them, and none is changed', async () => {
  const ids = await fill(database.sql).running(3, { lockedBy });
  await onDelete(`if old.id = ${ids[1]} then raise exception 'no' using errcode = 'P0001'; end if;`);
  await expect(complete(...ids.map((id) => ({ id, lockedBy })))).rejects.toMatchObject({
    cause: { code: 'P0001' },
  });
  expect(await database.sql`select 1 from jobs where state = 'running'`).toHaveLength(3);
});
