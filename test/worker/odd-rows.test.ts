/** Rows that the table's CHECKs let in and no enqueue would make: each runs to its end beside ordinary ones, on every driver. */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';
import { connect, networkedDrivers } from '../support/drivers.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { watch } = useWorkers(database);

interface Given {
  readonly what?: string;
  readonly fails?: boolean;
  readonly n?: number;
}

const registry = defineJobs({ odd: job<Given>(), newest: job<Given>({ version: 32_767 }) });

/** Works with the driver until `work` has done what it does and nothing is left to run. */
async function run(driver: (typeof networkedDrivers)[number], insert: () => Promise<unknown>) {
  const { db, end } = await connect(driver, database.url);
  const payloads: unknown[] = [];
  const handle = (payload: Given | null) => {
    payloads.push(payload);
    if (payload?.fails) throw new Error('no luck');
  };
  try {
    await insert();
    await createQueue(registry).enqueue(database.db, 'odd', { what: 'an ordinary one' });
    const worker = createWorker({
      db,
      registry,
      queues: { default: 50 },
      pollIntervalMs: 20,
      log: false,
      handlers: { odd: handle, newest: handle },
    });
    const seen = watch(worker);
    await worker.start();
    const left = () =>
      database.sql`select 1 from jobs where state = 'running' or (state = 'available' and run_at <= now())`;
    await until(async () => payloads.length > 0 && (await left()).length === 0, { what: 'all jobs to end' });
    await worker.stop();
    expect({ error: seen.error, lost: seen.lost, unknown: seen.unknown }).toEqual({
      error: [],
      lost: [],
      unknown: [],
    });
    return payloads;
  } finally {
    await end();
  }
}

describe.each(networkedDrivers)('on %s', (driver) => {
  it('numbers that no double holds arrive as JavaScript reads them', async () => {
    const payloads = await run(
      driver,
      () => database.sql`
        insert into jobs (kind, payload) values ('odd', '{"n": 12345678901234567890}'), ('odd', '{"n": 1e400}')`,
    );
    expect(payloads).toContainEqual({ n: 12345678901234567000 });
    expect(payloads).toContainEqual({ n: Number.POSITIVE_INFINITY });
  });

  it('counts, times and texts at the ends of their columns', async () => {
    await run(driver, () =>
      database.sql.unsafe(`
        insert into jobs (kind, payload, run_at, attempts, max_attempts, timeout_s, priority, last_error, errors, meta, payload_version)
        select 'newest', jsonb_build_object('fails', fails), run_at::timestamptz, attempts, 2147483647, 2147483647, priority,
               repeat('x', 1000000), errors, '1', 32767
        from   unnest(array[true, false]) as fails,
               unnest(array['-infinity', '0044-03-15 BC', '1970-01-01']) as run_at,
               unnest(array[0, 2147483646, 2147483647]) as attempts,
               unnest(array[-32768, 32767]) as priority,
               unnest(array['[]', '[1, null, "x", {}]', (select jsonb_agg(i)::text from generate_series(1, 10000) as i)]::jsonb[]) as errors`),
    );
    const left = await database.sql`
      select state, max(attempts) as attempts, bool_and(errors -> -1 ->> 'error' = 'Error: no luck') as recorded
      from   jobs group by state order by state`;
    expect(left).toEqual([
      { state: 'available', attempts: 1, recorded: true },
      { state: 'discarded', attempts: 2_147_483_647, recorded: true },
    ]);
  });

  it('payloads of every JSON type, by COPY', async () => {
    const payloads = await run(driver, async () => {
      const copy = await database.sql`copy jobs (kind, payload) from stdin`.writable();
      copy.end(['null', '[]', '"x"', '1', 'false', '{}'].map((json) => `odd\t${json}\n`).join(''));
      await once(copy, 'finish');
    });
    for (const payload of [null, [], 'x', 1, false, {}]) expect(payloads).toContainEqual(payload);
  });
});
