/**
 * Named statements: in use where the connections are straight to Postgres, never in the way of the app's own settings,
 * and without a loss where somebody takes the names away.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { SQL } from 'drizzle-orm';
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { afterEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/executor.js';
import { type NamedStatements, namedStatements } from '../../src/database/named.js';
import { type ClaimedJob, claim, claimStatement } from '../../src/sql/claim.js';
import { completeMany } from '../../src/sql/complete-many.js';
import { useDatabase } from '../support/database.js';
import { connect } from '../support/drivers.js';
import { fill, table } from '../support/jobs.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

interface App {
  readonly db: Database;
  /** Runs plain SQL on the one connection of the app's client. */
  run(text: string): Promise<readonly Record<string, unknown>[]>;
}

/** What of the app's own is not told to its client. */
interface Own {
  readonly client?: object;
  readonly drizzle?: object;
}

let ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  const these = ends;
  ends = [];
  for (const end of these) await end();
});

const apps = {
  'postgres.js': (own: Own = {}): App => {
    const client = postgres(database.url, { max: 1, onnotice: () => {}, ...own.client });
    ends.push(() => client.end());
    return { db: overPostgresJs({ client, ...own.drizzle }), run: async (text) => client.unsafe(text) };
  },
  'node-postgres': (own: Own = {}): App => {
    const client = new pg.Pool({ connectionString: database.url, max: 1, ...own.client });
    ends.push(() => client.end());
    return { db: overPg({ client, ...own.drizzle }), run: async (text) => (await client.query(text)).rows };
  },
} as const;

/** A worker that ends before its client. */
async function startOn(app: App, ...[handler, options]: Parameters<typeof startTask>) {
  const started = await startTask(handler, { ...options, db: app.db });
  ends.unshift(() => started.worker.stop({ graceMs: 0 }));
  return started;
}

/** The names of our statements on the connection of the app's client, with their text. */
async function names(app: App): Promise<readonly { name: string; statement: string }[]> {
  const all = await app.run('select name, statement from pg_prepared_statements order by name');
  return all
    .map(({ name, statement }) => ({ name: String(name), statement: String(statement) }))
    .filter(({ statement }) => /with (?:want|asked) as/.test(statement));
}
/** A look of the worker's own accord; one for jobs that it was told of has another text. */
const isClaim = ({ statement }: { statement: string }) =>
  statement.includes('claimed as') && statement.includes("'due'");
const isComplete = ({ statement }: { statement: string }) => statement.includes('completed as');

async function untilNamed(app: App): Promise<void> {
  await until(async () => (await names(app)).some(isClaim), { what: 'a claim by name' });
}

describe.each(Object.entries(apps))('on %s', (driver, connectApp) => {
  it('the worker’s statements have names after a moment, each one', async () => {
    const app = connectApp();
    const { add, seen } = await startOn(app, () => {});
    await untilNamed(app);
    for (let n = 1; n <= 5; n++) {
      await add(n);
      await until(() => seen.completed.length === n, { what: `end ${n}` });
    }
    const named = await names(app);
    expect(named.filter(isClaim)).toHaveLength(1);
    expect(named.filter(isComplete)).toHaveLength(1);
    if (driver === 'node-postgres') {
      for (const { name } of named) expect(name).toMatch(/^drizzle_queue_[0-9a-f]{32}$/);
    }
    expect(seen.error).toEqual([]);
  });

  it('the app’s logger hears of them as of all others', async () => {
    const heard: { query: string; params: readonly unknown[] }[] = [];
    const logger = {
      logQuery: (query: string, params: readonly unknown[]) => void heard.push({ query, params }),
    };
    const app = connectApp({ drizzle: { logger } });
    const { add, seen } = await startOn(app, () => {});
    await untilNamed(app);
    heard.length = 0;
    await add(1);
    await until(() => seen.completed.length, { what: 'the end' });
    const claims = heard.filter(({ query }) => /claimed as|as told/.test(query)); // a look, or a claim by id
    expect(claims.length).toBeGreaterThan(0);
    for (const { query, params } of claims) expect(params).toHaveLength(new Set(query.match(/\$\d+/g)).size);
    expect(heard.filter(({ query }) => query.includes('completed as'))).toHaveLength(1);
  });

  it.each(['deallocate all', 'discard all'])(
    '%s in the middle loses nothing and is no error',
    async (command) => {
      const app = connectApp();
      const runs = new Map<number, number>();
      const { seen } = await startOn(
        app,
        async ({ n }) => {
          runs.set(n, (runs.get(n) ?? 0) + 1);
          if (n % 10 === 0) await app.run(command);
        },
        { slots: 5 },
      );
      await untilNamed(app);
      await database.sql`
      insert into jobs (kind, payload) select 'task', jsonb_build_object('n', n) from generate_series(1, 200) as n`;
      await until(() => seen.completed.length === 200, { what: 'all ends' });
      expect([...runs.values()].every((count) => count === 1)).toBe(true);
      expect(runs.size).toBe(200);
      expect(seen).toMatchObject({ error: [], lost: [], unknown: [], failed: [] });
    },
  );

  it('a column that changes its type under kept plans costs no job', async () => {
    const app = connectApp();
    const { seen } = await startOn(app, () => turn(), { slots: 5 });
    await untilNamed(app);
    await database.sql`
      insert into jobs (kind, payload) select 'task', jsonb_build_object('n', n) from generate_series(1, 1000) as n`;
    await until(() => seen.completed.length >= 60, { what: 'plans that are kept' });
    await database.sql`alter table jobs alter column kind type varchar(300)`;
    try {
      expect(seen.completed.length).toBeLessThan(1_000);
      await until(() => seen.completed.length === 1_000, { what: 'all ends' });
      expect(seen).toMatchObject({ error: [], lost: [], unknown: [], failed: [] });
    } finally {
      await database.sql`alter table jobs alter column kind type text`;
    }
  });

  it('a statement has another name when the table is large', async () => {
    const app = connectApp();
    const { worker } = await startOn(app, () => {}, { pollIntervalMs: 10 });
    await untilNamed(app);
    const isLarge = ({ statement }: { statement: string }) => statement.includes('in a large table');
    expect((await names(app)).filter(isLarge)).toEqual([]);

    await fill(database.sql).discarded(30_000);
    const large = async () => (await names(app)).filter(isLarge);
    await until(async () => (await large()).some(isClaim), { what: 'a claim in a large table' });
    await worker.stop();
    const [small] = (await names(app)).filter((one) => isClaim(one) && !one.statement.includes('-- in a '));
    expect((await large()).find(isClaim)?.statement).toBe(`${small?.statement}\n-- in a large table`);
  });

  it('a plan that was kept while the table was empty is not that of a large one', async () => {
    const { sql } = database;
    await sql`alter table jobs set (autovacuum_enabled = off)`;
    await sql`vacuum jobs`;
    const app = connectApp();
    const named = namedOf(app.db);
    let claims = 0;
    const take = async () => {
      const request = { want: new Map([['default', 10]]), kinds: ['task'], lockedBy: `worker/${++claims}` };
      const { jobs, tableBytes } = await claim(named, table, request);
      named.tableHas(tableBytes);
      return jobs;
    };
    const complete = (jobs: readonly Pick<ClaimedJob, 'id' | 'lockedBy'>[]) =>
      completeMany(named, table, jobs);
    for (let n = 0; n < 12; n++) {
      await take();
      await complete([{ id: 0, lockedBy: 'worker/0' }]);
    }
    const [view] = await app.run(`
      select 1 from pg_attribute where attrelid = 'pg_prepared_statements'::regclass and attname = 'generic_plans'`);
    // Postgres 13 does not tell.
    const keptPlans = 'select generic_plans from pg_prepared_statements where generic_plans > 0';
    if (view) expect(await app.run(keptPlans)).not.toHaveLength(0);

    await fill(sql).available(50_000, { kind: 'task', dueInS: sql`-i` });
    await take();

    // Also counts what the session has not reported of its earlier transactions.
    const scans = async () => {
      const [counted] = await app.run(`
        select seq_scan::int as whole, idx_scan::int as by_index from pg_stat_xact_user_tables where relname = 'jobs'`);
      return { whole: Number(counted?.['whole'] ?? 0), byIndex: Number(counted?.['by_index'] ?? 0) };
    };
    await app.run('begin');
    const before = await scans();
    for (let n = 0; n < 12; n++) {
      const jobs = await take();
      expect(jobs).toHaveLength(10);
      expect((await complete(jobs)).every(({ result }) => result === 'done')).toBe(true);
    }
    const after = await scans();
    await app.run('rollback');
    expect(after.whole - before.whole).toBe(0);
    expect(after.byIndex - before.byIndex).toBeGreaterThan(24);
    await sql`alter table jobs reset (autovacuum_enabled)`;
  });

  it('a statement whose name is gone runs all the same, and gets another', async () => {
    const app = connectApp();
    const named = namedOf(app.db);
    await named.execute(statement());
    await app.run('deallocate all');
    for (let n = 0; n < 3; n++) await named.execute(statement());
    const [left] = await app.run('select count(*)::int as n from pg_prepared_statements');
    expect(left).toEqual({ n: 1 });
  });

  it('the app’s own parsers do not get to see our answers', async () => {
    const parsed: string[] = [];
    const parse = (text: string) => {
      parsed.push(text);
      return { text };
    };
    const own = {
      'postgres.js': {}, // they are Drizzle's as well
      'node-postgres': {
        types: {
          getTypeParser: (oid: number, format?: 'text' | 'binary') =>
            oid === 20 ? parse : pg.types.getTypeParser(oid, format),
        },
      },
    }[driver];
    const app = connectApp({ client: own ?? {} });
    const { add, seen } = await startOn(app, () => {});
    await untilNamed(app);
    await add(1);
    await until(() => seen.completed.length, { what: 'the end' });
    expect(seen.error).toEqual([]);
    expect(parsed).toEqual([]);
  });
});

describe('no names are given', () => {
  it('where postgres.js was told to prepare nothing', async () => {
    const app = apps['postgres.js']({ client: { prepare: false } });
    const { add, seen } = await startOn(app, () => {});
    const sessions = () => database.sql`
      select 1 from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and objsubid = 2 and granted
      and database = (select oid from pg_database where datname = current_database())`;
    await until(async () => (await sessions()).length === 1, {
      what: 'the session, from which on there may be names',
    });
    for (let n = 1; n <= 5; n++) {
      await add(n);
      await until(() => seen.completed.length === n, { what: `end ${n}` });
    }
    expect(await app.run('select name, statement from pg_prepared_statements')).toEqual([]);
    expect(namedStatements(app.db)).toBeUndefined();
  });

  it('where node-postgres has binary answers', async () => {
    const { db } = apps['node-postgres']({ client: { binary: true } });
    expect(namedStatements(db)).toBeUndefined();
  });

  it('in a transaction, and on PGlite', async () => {
    await database.db.transaction(async (tx) => expect(namedStatements(tx)).toBeUndefined());
    const { db, end } = await connect('pglite', '');
    expect(namedStatements(db)).toBeUndefined();
    await end();
  });
});

it('a name that somebody else has on the connection is no error', async () => {
  const first = apps['node-postgres']();
  await namedOf(first.db).execute(statement());
  const [taken] = await names(first);
  const app = apps['node-postgres']();
  await app.run(`prepare "${taken?.name}" as select 1`);

  const named = namedOf(app.db);
  const answer = await claim(named, table, request);

  expect(answer).toMatchObject({ jobs: [], refused: [] });
});

const request = { want: new Map([['default', 1]]), kinds: ['none'], lockedBy: 'worker/1' };
const statement = (): SQL => claimStatement(table, request);

function namedOf(db: Database): NamedStatements {
  const named = namedStatements(db);
  if (!named) throw new Error('The driver has names.');
  return named;
}
