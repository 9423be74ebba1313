/** The `enqueue` move for a list: ids in the order of the list, in statements of a bounded size. */
import { beforeEach, expect, it } from 'vitest';
import type { Executor, Transaction } from '../../src/database/executor.js';
import { createQueue, defineJobs, job } from '../../src/index.js';
import type { NewJob } from '../../src/sql/enqueue.js';
import { enqueueMany, largestInsert } from '../../src/sql/enqueue-many.js';
import { useDatabase } from '../support/database.js';
import { row, table } from '../support/jobs.js';

const database = useDatabase();
const queue = createQueue(defineJobs({ count: job<{ n: number }>(), nothing: job() }));

const newJob: NewJob = {
  queue: 'mail',
  kind: 'count',
  payload: '{}',
  priority: 0,
  when: { delayMs: 0 },
  maxAttempts: 7,
  timeoutS: 90,
};

beforeEach(() => database.sql`truncate jobs`);

/** The database, counting the statements it is sent, those in its transactions included. */
function counting(
  db: Executor,
  count = { statements: 0 },
): Executor & { readonly count: { statements: number } } {
  return {
    count,
    execute(query: unknown) {
      count.statements++;
      return db.execute(query);
    },
    transaction: (run: (tx: Executor) => Promise<unknown>) =>
      db.transaction((tx: Transaction) => run(Object.assign(counting(tx, count), { rollback: tx.rollback }))),
  };
}

it('gives 12,000 ids in the order of the list, whatever the priorities, in one statement per 5,000', async () => {
  const db = counting(database.db);
  const list = Array.from({ length: 12_000 }, (_, n) => ({
    kind: 'count' as const,
    payload: { n },
    priority: ((n * 7_919) % 201) - 100,
    ...(n % 3 === 0 ? { delayMs: (n * 31) % 1_000 } : {}),
  }));

  const ids = (await queue.enqueueMany(db, list)).map(({ id }) => id);

  expect(db.count.statements).toBe(3);
  const stored = await database.sql<{ id: number; n: number; priority: number }[]>`
    select id::float8 as id, (payload ->> 'n')::int as n, priority from jobs`;
  const byId = new Map(stored.map((one) => [one.id, one]));
  expect(ids.map((id) => byId.get(id)?.n)).toEqual(list.map(({ payload }) => payload.n));
  expect(ids.map((id) => byId.get(id)?.priority)).toEqual(list.map(({ priority }) => priority));
});

it('keeps of each job what it is given', async () => {
  const list: NewJob[] = [
    { ...newJob, payload: 'null' },
    { ...newJob, payload: '[1,{"a":null}]', priority: 32_767 },
    { ...newJob, payload: '"text"', priority: -32_768 },
    { ...newJob, queue: `it's "NULL", {\\}`, kind: '😀'.repeat(128), payload: '{"a\\"b":"\\\\"}' },
    { ...newJob, when: { runAt: '2099-01-02T03:04:05.678Z' }, maxAttempts: 1, timeoutS: 1 },
  ];

  const ids = await enqueueMany(database.db, table, list);

  const rows = await Promise.all(ids.map((id) => row(database.sql, id)));
  expect(rows.map((one) => one?.payload)).toEqual([null, [1, { a: null }], 'text', { 'a"b': '\\' }, {}]);
  expect(rows).toMatchObject(
    list.map(({ queue, kind, priority, maxAttempts, timeoutS }) => ({
      queue,
      kind,
      priority,
      maxAttempts,
      timeoutS,
      state: 'available',
      attempts: 0,
    })),
  );
  expect(rows[4]?.runAt.toISOString()).toBe('2099-01-02T03:04:05.678Z');
});

it('stores a JSON null as such, not as no payload', async () => {
  const [id] = await enqueueMany(database.db, table, [{ ...newJob, payload: 'null' }]);
  const [stored] = await database.sql`select jsonb_typeof(payload) as type from jobs where id = ${id ?? 0}`;
  expect(stored).toEqual({ type: 'null' });
});

it('counts delays from the call, not from the start of the transaction', async () => {
  const delays = [0, 1_000, 3_600_000];
  await database.db.transaction(async (tx) => {
    await tx.execute('select 1');
    await enqueueMany(
      tx,
      table,
      delays.map((delayMs) => ({ ...newJob, when: { delayMs } })),
    );
  });
  const late = await database.sql<{ ms: number }[]>`
    select extract(epoch from run_at - created_at)::float8 * 1000 as ms from jobs order by id`;
  for (const [n, { ms }] of late.entries()) {
    expect(ms).toBeGreaterThan(delays[n] ?? 0);
    expect(ms).toBeLessThan((delays[n] ?? 0) + 5_000);
  }
});

it('takes the largest list in one statement, and gives as many different ids', async () => {
  const db = counting(database.db);
  const ids = await enqueueMany(
    db,
    table,
    Array.from({ length: largestInsert }, () => newJob),
  );
  expect(db.count.statements).toBe(1);
  expect(new Set(ids).size).toBe(largestInsert);
});

it('inserts all or nothing, also over several statements', async () => {
  await database.sql`alter table jobs add constraint no_last check (payload <> '{"n": 11999}')`;
  const list = Array.from({ length: 12_000 }, (_, n) => ({ kind: 'count' as const, payload: { n } }));
  await expect(queue.enqueueMany(database.db, list)).rejects.toThrow();
  await database.sql`alter table jobs drop constraint no_last`;
  await expect(database.sql`select 1 from jobs limit 1`).resolves.toEqual([]);
});

it('sends nothing for the empty list', async () => {
  const db = counting(database.db);
  expect(await queue.enqueueMany(db, [])).toEqual([]);
  expect(db.count.statements).toBe(0);
});
