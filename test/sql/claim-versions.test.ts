/** A claim leaves jobs whose payload is of a newer version than the worker knows, as it leaves kinds it does not know. */
import { beforeEach, expect, it } from 'vitest';
import { claim, findNext } from '../../src/sql/claim.js';
import type { Wanted } from '../../src/sql/claim-next.js';
import { useDatabase } from '../support/database.js';
import { fill, given, table, verbatim } from '../support/jobs.js';

const database = useDatabase();
let claims = 0;

beforeEach(() => database.sql`truncate jobs`);

async function take(wanted: Wanted) {
  const { jobs } = await claim(database.db, table, { ...wanted, lockedBy: `worker/${++claims}` });
  return jobs.map(({ id, payloadVersion }) => ({ id, payloadVersion }));
}
const ten = new Map([['default', 10]]);

it('takes those up to the newest version of each kind, and says which they have', async () => {
  const { available } = given(database.sql);
  const add = (kind: string, payloadVersion: number) => available({ kind, payloadVersion });
  const taken = [
    { id: await add('greet', 1), payloadVersion: 1 },
    { id: await add('greet', 2), payloadVersion: 2 },
    { id: await add('part', 1), payloadVersion: 1 },
    { id: await add('wave', 32_767), payloadVersion: 32_767 },
  ];
  const left = [
    await add('greet', 3),
    await add('greet', 32_767),
    await add('part', 2),
    await add('other', 1),
  ];
  const before = await Promise.all(left.map((id) => verbatim(database.sql, id)));

  const wanted = { want: ten, kinds: ['part', 'greet', 'wave'], versions: [1, 2, 32_767] };
  expect(await findNext(database.db, table, wanted)).toEqual(taken.map(({ id }) => id));
  expect(await take(wanted)).toEqual(taken);
  expect(await take(wanted)).toEqual([]);

  expect(await Promise.all(left.map((id) => verbatim(database.sql, id)))).toEqual(before);
});

it('takes any version where none is said, of the first of two equal kinds, and nothing without kinds', async () => {
  const id = await given(database.sql).available({ payloadVersion: 32_767 });
  expect(await take({ want: ten, kinds: ['greet', 'greet'], versions: [1, 32_767] })).toEqual([]);
  expect(await take({ want: ten, kinds: [], versions: [] })).toEqual([]);
  expect(await take({ want: ten, kinds: ['greet'] })).toEqual([{ id, payloadVersion: 32_767 }]);
});

it('fills up with what lies behind newer ones, in each priority and queue', async () => {
  await fill(database.sql).available(2_000, { payloadVersion: 7, priority: 5, dueInS: -900 });
  await fill(database.sql).available(2_000, { payloadVersion: 7, dueInS: -900 });
  const behind = await fill(database.sql).available(3, { dueInS: -1 });
  await fill(database.sql).available(50, { queue: 'mail', payloadVersion: 7, dueInS: -900 });
  const mail = await given(database.sql).available({ queue: 'mail', payloadVersion: 6 });

  const want = new Map([
    ['mail', 2],
    ['default', 2],
  ]);
  const wanted = { want, kinds: ['greet'], versions: [6] };
  expect((await take(wanted)).map(({ id }) => id)).toEqual([mail, ...behind.slice(0, 2)]);
});

it('looks again at a row that becomes newer while the claim waits for nothing', async () => {
  const id = await given(database.sql).available();
  const holder = await database.sql.reserve();
  try {
    await holder`begin`;
    await holder`update jobs set payload_version = 2 where id = ${id}`;
    const wanted = { want: ten, kinds: ['greet'], versions: [1] };
    expect(await take(wanted)).toEqual([]); // skipped, as it is held
    await holder`commit`;
    expect(await take(wanted)).toEqual([]); // newer
  } finally {
    holder.release();
  }
});
