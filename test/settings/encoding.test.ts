/** A database that is not in UTF-8: what its encoding does not have is refused, and everything else works. */
import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { rows } from '../../src/database/rows.js';
import { sqlState } from '../../src/database/sqlstate.js';
import { createQueue, type Database, defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import { queue } from '../drivers/app.js';
import { queue as reading, withCounter } from '../drivers/reading-tests.js';
import { withWorker } from '../drivers/worker-stage.js';
import { connect, networkedDrivers } from '../support/drivers.js';
import { readMigrations } from '../support/migrations.js';
import { asAdmin } from '../support/postgres/index.js';
import { cloneName, dropDatabase, withDatabase } from '../support/template.js';
import { until } from '../support/until.js';

const { url: adminUrl, run } = inject('postgres');
const name = cloneName(run, randomBytes(4).toString('hex'));
const url = withDatabase(adminUrl, name);

beforeAll(async () => {
  await asAdmin(
    adminUrl,
    (admin) =>
      admin`create database ${admin(name)} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'`,
  );
  const { db, end } = await connect('postgres.js', url);
  for (const migration of await readMigrations()) await db.$client.unsafe(migration);
  await end();
});
afterAll(() => dropDatabase(adminUrl, name));

describe.each(networkedDrivers)('in LATIN1, on %s', (driver) => {
  it('a payload that it cannot hold is refused, and jobs run to every end', async () => {
    const { db, end } = await connect(driver, url);
    const refused = await queue.enqueue(db, 'greet', '\u{1F600}').catch((error: unknown) => error);
    expect(sqlState(refused)).toBe('22P05');
    const tasks = ['end', 'fail once', 'discard'] as const;
    for (const does of tasks) await queue.enqueue(db, 'task', { does });
    const seen = await withWorker(
      { db },
      ({ does }, job) => {
        if (does === 'fail once' && job.attempt === 1) throw new Error('Pas de chance, désolé');
        if (does === 'discard') job.discard('ça ne vaut rien');
      },
      (seen) =>
        until(() => seen.completed?.length === 2 && seen.discarded, { what: 'all ends' }).then(() => {}),
    );
    expect(seen.error).toBeUndefined();
    expect(await rows(db, sql`select last_error, errors->0->>'error' as brief from public.jobs`)).toEqual([
      {
        last_error: expect.stringContaining('ça ne vaut rien'),
        brief: expect.stringContaining('ça ne vaut rien'),
      },
    ]);
    await rows(db, sql`truncate public.jobs`);
    expect(
      await withCounter(db, async () => {
        const { id } = await reading.enqueue(db, 'letter', { to: 'désolé' });
        const ended = async () => (await reading.get(db, id))?.state === 'discarded';
        await until(ended, { what: 'the discard' });
        return reading.deadLetters(db);
      }),
    ).toMatchObject([{ error: 'Discard: there is no désolé' }]);
    await rows(db, sql`truncate public.jobs`);
    await end();
  });

  it('a result that it cannot hold fails its attempt, and no other', async () => {
    const { db, end } = await connect(driver, url);
    const registry = defineJobs({ say: job<string, string>({ retry: () => 0 }).onComplete('keep') });
    const saying = createQueue(registry);
    // Without the driver's own names for statements: an error of Drizzle has the whole query in its message, results and all.
    const plain: Database = {
      execute: (query) => db.execute(query),
      transaction: (run, config) => db.transaction(run, config),
    };
    const worker = createWorker({
      db: plain,
      registry,
      queues: { default: 10 },
      handlers: { say: (text) => (text === 'smile' ? '\u{1F600}' : text) },
      pollIntervalMs: 20,
      log: false,
    });
    const texts = ['désolé', 'smile', 'ça'];
    const list = texts.map((payload) => ({ kind: 'say' as const, payload, maxAttempts: 1 }));
    const ids = (await saying.enqueueMany(db, list)).map(({ id }) => id);
    await worker.start();
    try {
      const ends = ids.map((id) => saying.wait(db, 'say', id).catch((error: unknown) => error));
      expect(await Promise.all(ends)).toEqual([
        'désolé',
        expect.objectContaining({
          code: 'JOB_DISCARDED',
          message: expect.stringContaining('has no equivalent in encoding "LATIN1"'),
        }),
        'ça',
      ]);
    } finally {
      await worker.stop();
    }
    await rows(db, sql`truncate public.jobs`);
    await end();
  });
});
