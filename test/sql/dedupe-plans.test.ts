/**
 * The plans of enqueues with dedupe keys beside 200,000 others: the job that holds a key is found by the index that decides,
 * never by the whole table or another index, whatever the statistics say.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Executor } from '../../src/database/executor.js';
import { tableName } from '../../src/database/table-name.js';
import { jobThrottle } from '../../src/database/tables.js';
import { deleteThrottles, largestDelete } from '../../src/sql/delete-throttles.js';
import type { KeyedJob } from '../../src/sql/enqueue.js';
import { enqueueOnce } from '../../src/sql/enqueue-once.js';
import { enqueueOnceMany } from '../../src/sql/enqueue-once-many.js';
import { enqueueReplacing } from '../../src/sql/enqueue-replacing.js';
import { enqueueThrottled } from '../../src/sql/enqueue-throttled.js';
import { useDatabase } from '../support/database.js';
import { fill, table } from '../support/jobs.js';
import { buffers, type Explained, explain, nodes, planModes, recorded, rowsSeen } from '../support/plans.js';

const database = useDatabase();
const throttle = tableName(jobThrottle);

const keyed = (key: string): KeyedJob => ({
  queue: 'default',
  kind: 'greet',
  payload: '{"n":1}',
  priority: 0,
  when: { delayMs: 0 },
  maxAttempts: 10,
  timeoutS: 60,
  key,
});
const replacing = (key: string) => (db: Executor) =>
  enqueueReplacing(db, table, { ...keyed(key), maxWaitMs: 1_000, again: false });
const again = (key: string) => (db: Executor) =>
  enqueueReplacing(db, table, { ...keyed(key), maxWaitMs: undefined, again: true });
const throttled = (key: string) => (db: Executor) =>
  enqueueThrottled(db, table, throttle, { ...keyed(key), periodMs: 1_000 });
const once = (key: string) => (db: Executor) => enqueueOnce(db, table, keyed(key));

beforeAll(async () => {
  const { sql } = database;
  await sql`alter table jobs set (autovacuum_enabled = off)`; // else it analyzes when it likes
  await fill(sql).discarded(100_000, { dedupeKey: sql`'waiting ' || i % 1000` });
  await sql`analyze jobs`;
  await fill(sql).available(50_000, { dedupeKey: sql`'waiting ' || i` });
  await fill(sql).available(40_000);
  await fill(sql).running(10_000, { dedupeKey: sql`'running ' || i` });
  await sql`alter table job_throttle set (autovacuum_enabled = off)`;
  await sql`analyze job_throttle`;
  await sql`
    insert into job_throttle (kind, key, until, job_id)
    select 'greet', word || i, now() + hours * interval '1 h', i
    from   (values ('over ', -1), ('waiting ', -1), ('begun ', 1)) as said(word, hours), generate_series(1, 50000) as i`;
}, 60_000);

describe.each([
  ['was analyzed while no job held a key', () => {}],
  ['was analyzed', () => database.sql`vacuum analyze jobs, job_throttle`],
])('in a table that %s', (_, prepare) => {
  beforeAll(async () => {
    await prepare();
  });

  describe.each(planModes)('with %s', (mode) => {
    it.each([
      ['of a new key', once('new')],
      ['of a key that a job holds which waits', once('waiting 7')],
      ['of a key that a job holds which runs', once('running 7')],
      ['of a new key, to replace', replacing('new')],
      ['of a job that waits, which it replaces', replacing('waiting 7')],
      ['of a job that runs, to replace', replacing('running 7')],
      ['of a new key, to run again', again('new')],
      ['of a job that waits, to run again', again('waiting 7')],
      ['of a job that runs, to run again', again('running 7')],
      ['of a throttle whose period is over', throttled('over 7')],
      ['of a throttle whose period has begun', throttled('begun 7')],
      ['of a throttle whose period is over, of a job that waits', throttled('waiting 7')],
    ])('an enqueue %s', async (_, send) => {
      const explained = await plan(send);
      expect(explained.Plan['Actual Rows']).toBe(1);
      expectByDedupeIndex(explained);
      expect(buffers(explained.Plan)).toBeLessThan(60);
    });

    it('the first enqueue of a throttle makes its row', async () => {
      const explained = await plan(throttled('first'));
      expect(explained.Plan['Actual Rows']).toBe(0);
      expect(buffers(explained.Plan)).toBeLessThan(60);
      expectByKey(explained);
    });

    it('throttles whose period is over are found by when it ended', async () => {
      const explained = await plan((db) => deleteThrottles(db, throttle, 60));
      expect(buffers(explained.Plan)).toBeLessThan(40 * largestDelete);
      expect(rowsSeen(explained.Plan)).toBeLessThan(12 * largestDelete);
    });

    it('an enqueue of 5,000 keys of which half are held goes once through them', async () => {
      const list = Array.from({ length: 5_000 }, (_, n) => keyed(n % 2 === 0 ? `new ${n}` : `waiting ${n}`));
      const explained = await plan((db) => enqueueOnceMany(db, table, list));
      expect(explained.Plan['Actual Rows']).toBe(5_000);
      expectByDedupeIndex(explained);
      expect(buffers(explained.Plan)).toBeLessThan(30 * 5_000);
      expect(rowsSeen(explained.Plan)).toBeLessThan(20 * 5_000);
    });

    async function plan(send: (db: Executor) => Promise<unknown>): Promise<Explained> {
      return explain(database.sql, mode, await recorded(send));
    }
  });
});

/** Reads of the throttles: by kind and key. */
function expectByKey({ Plan, JIT }: Explained): void {
  for (const read of nodes(Plan)) {
    if (!read['Node Type'].includes('Scan') || read['Relation Name'] !== 'job_throttle') continue;
    // Where nothing is known of the values, by way of a bitmap.
    const by = read['Node Type'] === 'Bitmap Heap Scan' ? read.Plans?.[0] : read;
    expect(by?.['Index Name'] ?? read['Node Type']).toBe('job_throttle_key');
  }
  expect(JIT).toBeUndefined();
}

/** Reads of the table: of what a key names by the dedupe index, of what an id names by the primary key. */
function expectByDedupeIndex(explained: Explained): void {
  const { Plan, JIT } = explained;
  expectByKey(explained);
  const reads = nodes(Plan).filter(
    (node) => node['Node Type'].includes('Scan') && node['Relation Name'] === 'jobs',
  );
  for (const read of reads) expect(['jobs_dedupe', 'jobs_pkey']).toContain(read['Index Name']);
  expect(reads.map((read) => read['Index Name'])).toContain('jobs_dedupe');
  expect(JIT).toBeUndefined();
}
