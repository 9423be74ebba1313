/**
 * The optional trigger: workers hear of jobs that come by plain SQL, and hear no more than before of those that the library
 * itself enqueues.
 */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres, { type Sql } from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { channelOf } from '../../src/database/table-name.js';
import { jobs } from '../../src/database/tables.js';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { createWakeTrigger } from '../../src/sql/wake-trigger.js';
import { createWorker } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';

const database = useDatabase();
const registry = defineJobs({ send: job<{ n: number }>().queue('mail'), ping: job() });
const queue = createQueue(registry);

let heard: string[] = [];
let ear: Sql;
beforeAll(async () => {
  // Twice: it is repeatable.
  for (const statement of [...createWakeTrigger('public', 'jobs'), ...createWakeTrigger('public', 'jobs')]) {
    await database.sql.unsafe(statement);
  }
  ear = postgres(database.url, { max: 1 });
  await ear.listen(channelOf(jobs), (text) => heard.push(text));
});
afterAll(() => ear.end({ timeout: 5 }));
afterEach(async () => {
  await database.sql`truncate jobs`;
});

/** What is heard of this; notifications come in the order of their commits, so nothing comes after the last. */
async function heardOf(work: (sql: Sql) => Promise<unknown>): Promise<string[]> {
  heard = [];
  await work(database.sql);
  await database.sql`select pg_notify(${channelOf(jobs)}, 'that was all')`;
  await until(() => heard.includes('that was all'), { what: 'the last notification' });
  return heard.filter((text) => text !== 'that was all').sort();
}

const seed = /^\d{1,6}$/;
const withoutSeed = (text: string) => text.split(' ').toSpliced(2, 1, '·').join(' ');

describe('plain SQL', () => {
  it('is told of once a statement and queue, with the number of jobs', async () => {
    const texts = await heardOf(
      (sql) => sql`
        insert into jobs (kind, payload, queue)
        select 'send', jsonb_build_object('n', n), case when n <= 3 then 'mail' else 'my "own" queue' end
        from   generate_series(1, 5) as n`,
    );
    expect(texts.map(withoutSeed).sort()).toEqual(['work 2 · my "own" queue', 'work 3 · mail']);
    expect(texts.every((text) => seed.test(text.split(' ')[2] ?? ''))).toBe(true);
  });

  it('needs no more than kind, payload and queue, and the defaults do for the rest', async () => {
    const texts = await heardOf((sql) => sql`insert into jobs (kind) values ('ping')`);
    expect(texts).toEqual([expect.stringMatching(/^work 1 \d+ default$/)]);
  });

  it('is told of jobs that fall due later as such, and not of those that do not wait', async () => {
    const texts = await heardOf(async (sql) => {
      await sql`insert into jobs (kind, queue, run_at) values ('send', 'mail', now() + interval '1 hour')`;
      await sql`insert into jobs (kind, queue, run_at) values ('send', 'mail', 'infinity')`;
      await sql`insert into jobs (kind, state, finished_at) values ('send', 'cancelled', now())`;
      await sql`insert into jobs (kind) select 'send' where false`;
    });
    expect(texts).toEqual(Array(2).fill(expect.stringMatching(/^later \d+ mail$/)));
  });

  it('is told of once a transaction, where many statements insert one each', async () => {
    const texts = await heardOf((sql) =>
      sql.begin(async (tx) => {
        for (let n = 0; n < 10; n++) await tx`insert into jobs (kind) values ('ping')`;
      }),
    );
    expect(texts).toEqual([expect.stringMatching(/^work 1 \d+ default$/)]);
  });

  it('is told of after its commit and not after a rollback', async () => {
    const texts = await heardOf((sql) =>
      sql
        .begin(async (tx) => {
          await tx`insert into jobs (kind) values ('ping')`;
          throw new Error('undo it');
        })
        .catch(() => {}),
    );
    expect(texts).toEqual([]);
  });

  it('of whatever sort: Drizzle’s insert, COPY, an upsert, a function', async () => {
    await database.sql`
      create function adds() returns void language sql as $$ insert into public.jobs (kind) values ('ping') $$`;
    const texts = await heardOf(async (sql) => {
      await database.db.insert(queue.tables.jobs).values({ kind: 'ping', queue: 'drizzle' });
      const copy = await sql`copy jobs (kind, queue) from stdin`.writable();
      await new Promise<void>((resolve, reject) => {
        copy.once('finish', resolve).once('error', reject).end('ping\tcopied\nping\tcopied\n');
      });
      const upsert = () => sql`
        insert into jobs (kind, queue, dedupe_key) values ('ping', 'upserted', 'k')
        on conflict (kind, dedupe_key) where state in ('available', 'running') and dedupe_key is not null
        do update set priority = 1`;
      await upsert();
      await upsert();
      await sql`select adds()`;
    });
    expect(texts.map(withoutSeed).sort()).toEqual([
      'work 1 · default',
      'work 1 · drizzle',
      'work 1 · upserted',
      'work 2 · copied',
    ]);
  });

  it('of a role that may only insert, under any search_path', async () => {
    const role = `web_${database.url.split('/').at(-1)}`;
    await database.sql.unsafe(`create role "${role}"; grant insert on jobs to "${role}"`);
    try {
      const texts = await heardOf((sql) =>
        sql.begin(async (tx) => {
          await tx.unsafe('create schema odd');
          await tx.unsafe(`grant usage on schema odd to "${role}"`);
          await tx.unsafe(
            "create function odd.pg_notify(text, text) returns void language sql as 'select 1/0'",
          );
          await tx.unsafe(`set local role "${role}"; set local search_path = odd, pg_catalog, public`);
          await tx`insert into public.jobs (kind) values ('ping')`;
        }),
      );
      expect(texts).toEqual([expect.stringMatching(/^work 1 \d+ default$/)]);
    } finally {
      await database.sql.unsafe(`drop owned by "${role}"; drop role "${role}"`);
    }
  });
});

describe('the library', () => {
  it('tells of its own enqueues as ever, and never twice', async () => {
    const enqueues: readonly [what: string, (n: number) => Promise<unknown>][] = [
      ['one', (n) => queue.enqueue(database.db, 'send', { n })],
      ['a list', (n) => queue.enqueueMany(database.db, [{ kind: 'send', payload: { n } }])],
      ['a key', (n) => queue.enqueue(database.db, 'send', { n }, { dedupeKey: `k${n}` })],
      [
        'keys',
        (n) =>
          queue.enqueueMany(
            database.db,
            [0, 1].map((m) => ({ kind: 'send', payload: { n }, dedupeKey: `l${n}${m}` })),
          ),
      ],
      [
        'a replaced one',
        (n) => queue.enqueue(database.db, 'send', { n }, { dedupeKey: `r${n}`, onDuplicate: 'replace' }),
      ],
    ];
    for (const [what, enqueue] of enqueues) {
      expect([what, await heardOf(() => enqueue(1))]).toEqual([
        what,
        [expect.stringMatching(/^(?:work [12]|job \d+) \d+ mail$/)],
      ]);
    }
  });

  it('is silent where it means to be', async () => {
    const texts = await heardOf(async () => {
      await queue.enqueue(database.db, 'send', { n: 1 }, { wake: false });
      await queue.enqueueMany(database.db, [{ kind: 'ping', wake: false }]);
      await queue.enqueue(database.db, 'send', { n: 1 }, { wake: false, dedupeKey: 'k' });
      await queue.enqueueMany(database.db, [{ kind: 'ping', wake: false, dedupeKey: 'k' }]);
      await queue.enqueue(
        database.db,
        'send',
        { n: 1 },
        { wake: false, dedupeKey: 'r', onDuplicate: 'replace' },
      );
    });
    expect(texts).toEqual([]);
  });
});

it('wakes a worker that would look in a minute', async () => {
  const client = postgres(database.url);
  const ran: number[] = [];
  const worker = createWorker({
    db: drizzle({ client }),
    registry,
    queues: { mail: 2 },
    handlers: { send: ({ n }) => void ran.push(n) },
    pollIntervalMs: 60_000,
    log: false,
  });
  const listening = new Promise((resolve) => worker.on('listening', resolve));
  await worker.start();
  try {
    await listening;
    for (const n of [1, 2, 3]) {
      await database.sql`insert into jobs (kind, payload, queue) values ('send', ${database.sql.json({ n })}, 'mail')`;
      await until(() => ran.length === n, { what: `job ${n}` });
    }
  } finally {
    await worker.stop({ graceMs: 0 });
    await client.end({ timeout: 5 });
  }
});
