/** The `heartbeat` move: renews the named claims, says how each stands, and never waits. */
import { beforeEach, expect, it } from 'vitest';
import { completeIn } from '../../src/sql/complete.js';
import { heartbeat } from '../../src/sql/heartbeat.js';
import { useDatabase } from '../support/database.js';
import { fill, given, row, table, verbatim, whileHeld } from '../support/jobs.js';

const database = useDatabase();
const old = { heartbeatAgoS: 3_600 };

beforeEach(() => database.sql`truncate jobs`);

async function agesS(ids: readonly number[]): Promise<number[]> {
  const found = await database.sql<{ age: number }[]>`
    select extract(epoch from clock_timestamp() - heartbeat_at)::float8 as age from jobs
    where id = any(${[...ids]}::bigint[]) order by id`;
  return found.map(({ age }) => age);
}

it('renews the claims it names, and leaves everything else of the row as it was', async () => {
  const id = await given(database.sql).running({ ...old, lockedBy: 'worker/7' });
  const before = await row(database.sql, id);

  expect(await heartbeat(database.db, table, [{ id, lockedBy: 'worker/7' }])).toEqual([
    { id, lockedBy: 'worker/7', pulse: 'ours' },
  ]);

  const after = await row(database.sql, id);
  expect(after).toEqual({ ...before, heartbeatAt: after?.heartbeatAt });
  expect((await agesS([id]))[0]).toBeLessThan(60);
});

it('counts from the call, not from the start of a transaction it may be in', async () => {
  const id = await given(database.sql).running(old);
  const [started] = await database.db.transaction(async (tx) => {
    const began = await tx.execute<{ now: string }>('select now() as now');
    await heartbeat(tx, table, [{ id, lockedBy: 'worker/1' }]);
    return began;
  });
  const [answer] = await database.sql`
    select heartbeat_at > ${started?.now ?? ''}::text::timestamptz as later from jobs where id = ${id}`;
  expect(answer).toEqual({ later: true });
});

it('renews no other job, not even of the same worker or the same claim', async () => {
  const named = await given(database.sql).running({ ...old, lockedBy: 'worker/7' });
  const others = [
    await given(database.sql).running({ ...old, lockedBy: 'worker/7' }),
    await given(database.sql).running({ ...old, lockedBy: 'worker/8' }),
  ];
  await heartbeat(database.db, table, [{ id: named, lockedBy: 'worker/7' }]);
  for (const age of await agesS(others)) expect(age).toBeGreaterThan(3_000);
});

it('says of each claim how it stands, two claims of one job included', async () => {
  const ours = await given(database.sql).running({ lockedBy: 'worker/2' });
  const taken = await given(database.sql).running({ lockedBy: 'other/1' });
  const over = await given(database.sql).discarded();
  const busy = await given(database.sql).running({ lockedBy: 'worker/3' });
  const none = 2 ** 52;

  const pulses = await whileHeld(database.sql, [busy], () =>
    heartbeat(database.db, table, [
      { id: ours, lockedBy: 'worker/1' },
      { id: ours, lockedBy: 'worker/2' },
      { id: taken, lockedBy: 'worker/1' },
      { id: over, lockedBy: 'worker/1' },
      { id: busy, lockedBy: 'worker/3' },
      { id: busy, lockedBy: 'worker/1' },
      { id: none, lockedBy: 'worker/1' },
    ]),
  );

  expect(new Map(pulses.map(({ id, lockedBy, pulse }) => [`${id} ${lockedBy}`, pulse]))).toEqual(
    new Map([
      [`${ours} worker/1`, 'lost'],
      [`${ours} worker/2`, 'ours'],
      [`${taken} worker/1`, 'lost'],
      [`${over} worker/1`, 'lost'],
      [`${busy} worker/3`, 'busy'],
      [`${busy} worker/1`, 'lost'],
      [`${none} worker/1`, 'gone'],
    ]),
  );
});

it('does not wait for a job that its handler is completing in an open transaction', async () => {
  const [completing, other] = await fill(database.sql).running(2, old);
  if (!completing || !other) throw new Error('Two rows are needed.');
  await database.db.transaction(async (tx) => {
    expect(await completeIn(tx, table, { id: completing, lockedBy: 'worker/1' })).toBe(true);

    // Would wait until its test's time limit: only the end of this very callback lets go of the row.
    const pulses = await heartbeat(database.db, table, [
      { id: completing, lockedBy: 'worker/1' },
      { id: other, lockedBy: 'worker/1' },
    ]);

    expect(pulses.map(({ id, pulse }) => [id, pulse]).sort()).toEqual([
      [completing, 'busy'],
      [other, 'ours'],
    ]);
  });
});

it('takes a thousand claims at once, with names that need quoting', async () => {
  const lockedBy = `o'brien "{x},\\y"/1`;
  const ids = await fill(database.sql).running(1_000, { ...old, lockedBy });
  const pulses = await heartbeat(
    database.db,
    table,
    ids.map((id) => ({ id, lockedBy })),
  );
  expect(pulses.filter(({ pulse }) => pulse === 'ours')).toHaveLength(1_000);
});

it('sends nothing for nobody, and changes nothing', async () => {
  const id = await given(database.sql).running();
  const before = await verbatim(database.sql, id);
  expect(await heartbeat(database.db, table, [])).toEqual([]);
  expect(await verbatim(database.sql, id)).toBe(before);
});
