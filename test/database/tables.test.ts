/** The jobs table: what plain SQL gets by default, what its CHECKs refuse, and its name under any search_path. */
import { sql } from 'drizzle-orm';
import { getTableConfig, PgDialect, pgSchema } from 'drizzle-orm/pg-core';
import { afterEach, describe, expect, it } from 'vitest';
import { sqlState } from '../../src/database/sqlstate.js';
import { tableName } from '../../src/database/table-name.js';
import { jobs, queueTables } from '../../src/database/tables.js';
import { states } from '../../src/words/states.js';
import { useDatabase } from '../support/database.js';

const database = useDatabase();

afterEach(async () => {
  await database.sql`truncate jobs`;
});

describe('a row that comes by plain SQL', () => {
  it('needs no more than a kind', async () => {
    const [row] = await database.sql`
      insert into jobs (kind) values ('greet')
      returning queue, payload, payload_version, priority, state, attempts, max_attempts, timeout_s, errors,
                run_at = now() as due, locked_by, finished_at`;
    expect(row).toEqual({
      queue: 'default',
      payload: {},
      payload_version: 1,
      priority: 0,
      state: 'available',
      attempts: 0,
      max_attempts: 10,
      timeout_s: 60,
      errors: [],
      due: true,
      locked_by: null,
      finished_at: null,
    });
  });

  it.each<[string, string]>([
    ['an empty kind', "kind = ''"],
    ['an empty queue', "queue = ''"],
    ['a state nobody knows', "state = 'done'"],
    ['max_attempts of 0', 'max_attempts = 0'],
    ['negative attempts', 'attempts = -1'],
    ['timeout_s of 0', 'timeout_s = 0'],
    ['payload_version of 0', 'payload_version = 0'],
    ['a lock while it is available', "locked_by = 'me'"],
    ['a heartbeat while it is available', 'heartbeat_at = now()'],
    ['running without a lock', "state = 'running', heartbeat_at = now(), started_at = now()"],
    ['running without a heartbeat', "state = 'running', locked_by = 'me', started_at = now()"],
    ['running without a start', "state = 'running', locked_by = 'me', heartbeat_at = now()"],
    ['completed without an end', "state = 'completed'"],
    ['discarded without an end', "state = 'discarded'"],
    ['cancelled without an end', "state = 'cancelled'"],
    ['an end while it is available', 'finished_at = now()'],
    ['an empty dedupe key', "dedupe_key = ''"],
    ['an empty limit key', "limit_key = ''"],
    ['errors that are no list', "errors = '{}'"],
  ])('is refused with %s', async (_what, assignment) => {
    await database.sql`insert into jobs (kind) values ('greet')`;
    const refused = await database.sql.unsafe(`update jobs set ${assignment}`).catch(sqlState);
    expect(refused).toBe('23514');
  });

  it.each(['payload', 'errors', 'run_at', 'kind', 'created_at'])(
    'is refused without a %s',
    async (column) => {
      await database.sql`insert into jobs (kind) values ('greet')`;
      expect(await database.sql.unsafe(`update jobs set ${column} = null`).catch(sqlState)).toBe('23502');
    },
  );

  it('is refused as the second unfinished one of a kind with its dedupe key', async () => {
    const add = (kind: string, key: string | null, finished = false) =>
      database.sql`
        insert into jobs (kind, dedupe_key, state, finished_at)
        values (${kind}, ${key}, ${finished ? 'completed' : 'available'}, ${finished ? new Date() : null})`.then(
        () => 'there',
        sqlState,
      );
    expect([
      await add('greet', 'a'),
      await add('greet', 'b'),
      await add('other', 'a'),
      await add('greet', null),
      await add('greet', null),
      await add('greet', 'a', true),
      await add('greet', 'a', true),
      await add('greet', 'a'),
    ]).toEqual([...Array.from({ length: 7 }, () => 'there'), '23505']);
  });
});

describe('the name of the table', () => {
  const name = (table: typeof jobs) => new PgDialect().sqlToQuery(sql`select 1 from ${tableName(table)}`).sql;

  it('is qualified and quoted', () => {
    expect(name(jobs)).toBe('select 1 from "public"."jobs"');
    expect(name(queueTables().jobs)).toBe('select 1 from "public"."jobs"');
    expect(name(queueTables({ schema: pgSchema('work') }).jobs)).toBe('select 1 from "work"."jobs"');
    expect(name(queueTables({ schema: pgSchema('Jobs-X"y') }).jobs)).toBe('select 1 from "Jobs-X""y"."jobs"');
  });
});

describe('the declaration', () => {
  it('names the states once: in the words, the column and the CHECK', () => {
    expect(jobs.state.enumValues).toEqual(states);
    const check = getTableConfig(jobs).checks.find((each) => each.name === 'jobs_finished_when_final');
    const text = check && new PgDialect().sqlToQuery(check.value).sql;
    expect([...(text ?? '').matchAll(/'(\w+)'/g)].map(([, state]) => state)).toEqual([...states]);
  });

  it('has no parameter in a predicate or a CHECK, which no migration could have', () => {
    const { checks, indexes } = getTableConfig(jobs);
    const conditions = [
      ...checks.map(({ value }) => value),
      ...indexes.flatMap(({ config }) => config.where ?? []),
    ];
    expect(conditions).toHaveLength(9);
    for (const condition of conditions) expect(new PgDialect().sqlToQuery(condition).params).toEqual([]);
  });
});
