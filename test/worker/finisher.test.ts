/**
 * Writing how runs ended: in batches, again after a failure of the database, and never at the cost of the neighbours
 * of a row that cannot be written.
 */

import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterEach, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { fill, row, whileHeld } from '../support/jobs.js';
import { until } from '../support/until.js';
import { createGate } from './gate.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

/** Has Postgres run `body` whenever a job's row is deleted or leaves `running`. */
async function atEveryEnd(body: string): Promise<void> {
  await database.sql.unsafe(`
    create sequence tries;
    create function at_end() returns trigger language plpgsql as $$ begin
      if tg_op = 'UPDATE' and (old.state <> 'running' or new.state = 'running') then return new; end if;
      ${body}
      if tg_op = 'DELETE' then return old; end if;
      return new;
    end $$;
    create trigger at_end before delete or update on jobs for each row execute function at_end()`);
}
afterEach(async () => {
  await database.sql`drop function if exists at_end cascade`;
  await database.sql`drop sequence if exists tries`;
});

const raise = (code: string) => `raise exception 'refused' using errcode = '${code}';`;

it('writes the ends of one turn in one statement', async () => {
  await database.sql.unsafe(`
    create sequence tries;
    create function at_end() returns trigger language plpgsql as $$ begin perform nextval('tries'); return null; end $$;
    create trigger at_end after delete on jobs for each statement execute function at_end()`);
  const go = createGate();
  let started = 0;
  const { seen } = await startTask(
    () => {
      started++;
      return go.passed;
    },
    { slots: 200, heartbeatMs: 10_000 }, // a row that is renewed at this moment would be tried again
  );
  await fill(database.sql).available(200, { kind: 'task' });
  await until(() => started === 200, { what: 'all jobs to run at once' });

  go.open();
  await until(() => seen.completed.length === 200, { what: 'all ends' });

  const [statements] = await database.sql`select last_value::int as n from tries`;
  expect(statements).toEqual({ n: 1 });
});

describe('a finish that the database refuses for a while', () => {
  it.each([
    ['40001', 'a serialization failure'],
    ['40P01', 'a deadlock'],
    ['57014', 'a cancelled statement'],
    ['08006', 'a lost connection'],
    ['53300', 'too many connections'],
  ])('with %s (%s) is written later, and its handler is not run again', async (code) => {
    await atEveryEnd(`if nextval('tries') <= 3 then ${raise(code)} end if;`);
    let runs = 0;
    const { add, seen } = await startTask(() => void runs++);

    const id = await add(1);
    await until(() => seen.completed.length + seen.unknown.length, { what: 'the end' });

    expect(await row(database.sql, id)).toBeUndefined();
    expect(runs).toBe(1);
    expect(seen).toMatchObject({ completed: [{ job: { id } }], failed: [], lost: [], rescued: [] });
    expect(seen.error.filter(({ during }) => during === 'finish')).toHaveLength(3);
    expect(seen.error[0]).toMatchObject({ during: 'finish', retryInMs: expect.any(Number) });
  });

  it('keeps its heartbeats meanwhile', async () => {
    await atEveryEnd(raise('57014'));
    const { add, seen } = await startTask(() => undefined, { rescueAfterMs: 1_000 });
    const id = await add(1);
    const renewed = async () => {
      const [pulse] = await database.sql`
        select 1 from jobs where id = ${id} and heartbeat_at > started_at + interval '1.2 seconds'`;
      return pulse;
    };
    await until(renewed, { what: 'heartbeats for longer than the rescue limit' });
    await database.sql`drop function at_end cascade`;
    await until(() => seen.completed.length, { what: 'the end' });
    expect(seen).toMatchObject({ lost: [], rescued: [] });
  });
});

describe.each(['P0001', '23514', '22P02'])('one row that the database refuses with %s', (code) => {
  const onlyFirst = (does: string) => `if old.payload @> '{"n": 1}' then ${does} end if;`;

  /** Three jobs that end in one statement, the first of which is refused, and one more after them. */
  async function runFour() {
    const go = createGate();
    let started = 0;
    let runs = 0;
    const made = await startTask(
      ({ n }) => {
        if (n === 1) runs++;
        if (n === 4) return;
        started++;
        return go.passed;
      },
      { maxAttempts: 1 },
    );
    const [bad] = await Promise.all([made.add(1), made.add(2), made.add(3)]);
    await until(() => started === 3, { what: 'three jobs to run' });
    go.open();
    await until(() => made.seen.completed.length === 2, { what: 'the ends of its neighbours' });
    await made.add(4);
    await until(() => made.seen.completed.length === 3, { what: 'a job of later' });
    return { ...made, bad, runs: () => runs };
  }

  it('is written as failed, with the reason, where that can be written', async () => {
    await atEveryEnd(onlyFirst(`if tg_op = 'DELETE' then ${raise(code)} end if;`));
    const { bad, seen, runs } = await runFour();
    await until(() => seen.discarded.length, { what: 'the failure' });
    const job = await row(database.sql, bad);
    expect(job).toMatchObject({ state: 'discarded', lastError: expect.stringContaining('refused') });
    expect(job?.errors).toMatchObject([{ attempt: 1, error: expect.stringContaining('refused') }]);
    expect(runs()).toBe(1);
  });

  it('is left to the rescuer where nothing can be written, and heard of', async () => {
    await atEveryEnd(onlyFirst(raise(code)));
    const { bad, seen, worker } = await runFour();
    await until(() => seen.error.length >= 2, { what: 'both refusals' });
    await worker.stop();
    expect(await row(database.sql, bad)).toMatchObject({ state: 'running', attempts: 1 });
    expect(seen.error).toMatchObject([
      { during: 'finish', retryInMs: 0 },
      { during: 'finish', retryInMs: null },
    ]);
    expect(seen.stopped).toEqual([{ unwritten: 0 }]);
  });
});

it('leaves a row that somebody holds for later, and writes the others now', async () => {
  const go = createGate();
  const { add, seen } = await startTask(() => go.passed);
  const [held] = await Promise.all([add(1), add(2)]);
  await until(() => seen.claimed.flatMap(({ jobs }) => jobs).length === 2, { what: 'both claims' });

  await whileHeld(database.sql, [held], async () => {
    go.open();
    await until(() => seen.completed.length, { what: 'the end of the other' });
    expect(seen.completed).toHaveLength(1);
  });

  await until(() => seen.completed.length === 2, { what: 'the end of the one that was held' });
  expect(seen).toMatchObject({ lost: [], error: [] });
});

it('a stop counts only what is not written, not what went with it', async () => {
  await atEveryEnd(`if tg_op = 'UPDATE' then perform pg_advisory_xact_lock(1); end if;`);
  const holder = await database.sql.reserve();
  await holder`select pg_advisory_lock(1)`;
  const go = createGate();
  const { add, seen, worker } = await startTask(
    async ({ n }) => {
      await go.passed;
      if (n === 0) throw new Error('no luck');
    },
    { heartbeatMs: 10_000 },
  );
  await Promise.all([add(0), add(1), add(2)]);
  await until(() => seen.claimed.flatMap(({ jobs }) => jobs).length === 3, { what: 'the claims' });
  go.open();
  await until(() => seen.completed.length === 2, { what: 'what can be written' });
  await worker.stop({ graceMs: 0 });
  await holder`select pg_advisory_unlock(1)`;
  holder.release();
  expect(seen.stopped).toEqual([{ unwritten: 1 }]);
});

it('does not make new ends wait for the pause after a row that stays held', async () => {
  const go = createGate();
  const { add, seen } = await startTask(({ n }) => (n === 0 ? go.passed : undefined));
  const held = await add(0);
  await until(() => seen.claimed.length, { what: 'the claim' });

  await whileHeld(database.sql, [held], async () => {
    go.open();
    const began = performance.now();
    for (let n = 1; n <= 15; n++) {
      await add(n);
      await until(() => seen.completed.length === n, { what: `end ${n}` });
    }
    // In step with the pauses, which double up to a second, fifteen ends take ten seconds.
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

it('writes the end of a row that was held for a moment soon after, however long another is held', async () => {
  const tries = new Map<string, number>();
  const logger = {
    logQuery(query: string, [ids]: readonly unknown[]) {
      if (!query.includes('completed as')) return;
      for (const id of String(ids).match(/\d+/g) ?? []) tries.set(id, (tries.get(id) ?? 0) + 1);
    },
  };
  const client = postgres(database.url, { onnotice: () => {} });
  const gates = [createGate(), createGate()];
  const { add, seen } = await startTask(({ n }) => gates[n]?.passed, {
    heartbeatMs: 10_000,
    db: drizzle({ client, logger }),
  });
  const [long, short] = await Promise.all([add(0), add(1)]);
  await until(() => seen.claimed.flatMap(({ jobs }) => jobs).length === 2, { what: 'both claims' });

  await whileHeld(database.sql, [long], async () => {
    gates[0]?.open();
    // Each pause of it is twice the last, from 5 ms on: the next takes a second.
    await until(() => tries.get(String(long)) === 9, { what: 'pauses of up to a second' });
    await whileHeld(database.sql, [short], async () => {
      gates[1]?.open();
      await until(() => (tries.get(String(short)) ?? 0) >= 2, { what: 'a pause of the other' });
    });
    const began = performance.now();
    await until(() => seen.completed.length, { what: 'the end of the other' });
    // In step with the other, it takes a second.
    expect(performance.now() - began).toBeLessThan(700);
    expect(seen.completed).toMatchObject([{ job: { id: short } }]);
  });

  await until(() => seen.completed.length === 2, { what: 'both ends' });
  expect(seen).toMatchObject({ lost: [], error: [] });
  await client.end();
});

it('leaves rows alone that were deleted or moved meanwhile, and says so', async () => {
  const go = createGate();
  const { add, seen } = await startTask(() => go.passed, { heartbeatMs: 10_000 });
  const [deleted, moved] = await Promise.all([add(1), add(2)]);
  await until(() => seen.claimed.flatMap(({ jobs }) => jobs).length === 2, { what: 'both claims' });
  await database.sql`delete from jobs where id = ${deleted}`;
  await database.sql`
    update jobs set state = 'cancelled', locked_by = null, heartbeat_at = null, started_at = null, finished_at = now()
    where id = ${moved}`;

  go.open();
  await until(() => seen.lost.length === 2, { what: 'both losses' });

  expect(await row(database.sql, moved)).toMatchObject({ state: 'cancelled', attempts: 1 });
  expect(seen).toMatchObject({ completed: [], error: [] });
});

it('asks in pauses for more held rows than fit into a statement', async () => {
  const go = createGate();
  let statements = 0;
  const logger = {
    logQuery(query: string) {
      if (query.includes('completed as')) statements++;
    },
  };
  const client = postgres(database.url, { onnotice: () => {} });
  const { seen } = await startTask(() => go.passed, {
    slots: 1_200,
    heartbeatMs: 10_000,
    db: drizzle({ client, logger }),
  });
  const ids = await fill(database.sql).available(1_200, { kind: 'task' });
  await until(() => seen.claimed.flatMap(({ jobs }) => jobs).length === 1_200, { what: 'all claims' });

  await whileHeld(database.sql, ids, async () => {
    go.open();
    await until(() => statements >= 6, { what: 'some tries' });
    const [before, began] = [statements, performance.now()];
    await until(() => performance.now() - began > 1_000, { what: 'a second' });
    // The pauses double up to a second; without them it asks hundreds of times.
    expect(statements - before).toBeLessThan(40);
  });
  await until(() => seen.completed.length === 1_200, { what: 'all ends' });
  await client.end();
});

it('a job whose row Postgres keeps without an error fails, and the error says why', async () => {
  await atEveryEnd("if tg_op = 'DELETE' then return null; end if;");
  const { seen, add } = await startTask(() => {}, { maxAttempts: 2, retry: () => 0 });
  const id = await add(1);
  await until(() => seen.discarded.length, { what: 'the last attempt' });
  expect(seen.error).toEqual([
    expect.objectContaining({
      during: 'finish',
      error: expect.objectContaining({
        code: 'CHANGE_REFUSED',
        data: { ids: [id], command: 'delete' },
        message: expect.stringContaining(`Postgres did not delete job ${id} and gave no reason`),
      }),
    }),
    expect.objectContaining({ during: 'finish' }),
  ]);
  expect(seen.completed).toEqual([]);
  expect(seen.failed).toHaveLength(1);
  expect(await row(database.sql, id)).toMatchObject({ state: 'discarded', attempts: 2 });
});

it('a row that Postgres does not even let fail is left to the rescuer', async () => {
  await atEveryEnd('return null;');
  const { seen, add, worker } = await startTask(() => {});
  const id = await add(1);
  await until(() => seen.error.length === 2, { what: 'both refusals' });
  await worker.stop();
  expect(seen.stopped).toEqual([{ unwritten: 0 }]);
  expect(await row(database.sql, id)).toMatchObject({ state: 'running' });
});
