/** Payloads of several releases, enqueued, claimed, upgraded, moved and read. */
import { asc, sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { createWorker } from '../../src/worker.js';
import { until } from '../support/until.js';
import type { UsedDriver } from './stage.js';

interface Old {
  user: string;
}
interface New {
  userId: number;
}
const oldApp = createQueue(defineJobs({ mail: job<Old>() }));
const registry = defineJobs({
  sendMail: job<New>({ version: 2, retry: () => 0 })
    .upgradeFrom<Old>(1, ({ user }) => {
      if (user === '') throw new Error('nobody');
      return { userId: Number(user) };
    })
    .alias('mail'),
});
const newApp = createQueue(registry);

export function versionTests(used: UsedDriver): void {
  it('runs older payloads upgraded, fails those that are not, and leaves newer ones', async () => {
    const { db } = used;
    const users = ['1', '', '3'];
    await oldApp.enqueueMany(
      db,
      users.map((user) => ({ kind: 'mail', payload: { user }, maxAttempts: 1 })),
    );
    await newApp.enqueue(db, 'sendMail', { userId: 4 });
    await newApp.enqueue(db, 'sendMail', { userId: 5 }, { dedupeKey: 'k', onDuplicate: 'replace' });
    await newApp.enqueue(db, 'sendMail', { userId: 6 }, { dedupeKey: 'k', onDuplicate: 'replace' });
    await used.read(sql`insert into jobs (kind, payload_version) values ('sendMail', 3), ('mail', 3)`);

    const ran: [kind: string, userId: number][] = [];
    const worker = createWorker({
      db,
      registry,
      queues: { default: 3 },
      pollIntervalMs: 20,
      log: false,
      handlers: { sendMail: ({ userId }, { kind }) => void ran.push([kind, userId]) },
    });
    const errors: unknown[] = [];
    worker.on('discarded', ({ error }) => errors.push(error));
    await worker.start();
    try {
      await until(async () => (await used.read(sql`select 1 from jobs`)).length === 3, { what: 'the ends' });
    } finally {
      await worker.stop({ graceMs: 0 });
    }
    expect(ran.sort()).toEqual([1, 3, 4, 6].map((userId) => ['sendMail', userId]));
    expect(errors).toEqual([expect.objectContaining({ code: 'PAYLOAD_NOT_UPGRADED' })]);
    expect(
      await used.read(sql`select kind, state, payload_version::int as version from jobs order by id`),
    ).toEqual([
      { kind: 'mail', state: 'discarded', version: 1 },
      { kind: 'sendMail', state: 'available', version: 3 },
      { kind: 'mail', state: 'available', version: 3 },
    ]);
  });

  it('reads and updates rows of an older release', async () => {
    const { db } = used;
    const { jobs } = newApp.tables;
    const { id } = await oldApp.enqueue(db, 'mail', { user: '1' });
    await newApp.enqueue(db, 'sendMail', { userId: 2 });
    const read = async () =>
      (await db.select().from(jobs).orderBy(asc(jobs.id))).map((row) => newApp.read(row));
    const payloads = async () => (await read()).map(({ kind, payload }) => ({ kind, payload }));
    expect(await payloads()).toEqual([1, 2].map((userId) => ({ kind: 'sendMail', payload: { userId } })));

    await newApp.update(db, 'sendMail', id, { userId: 9 });
    expect(await payloads()).toEqual([9, 2].map((userId) => ({ kind: 'sendMail', payload: { userId } })));
    expect(await used.read(sql`select kind, payload_version::int as version from jobs order by id`)).toEqual([
      { kind: 'mail', version: 2 },
      { kind: 'sendMail', version: 2 },
    ]);
    await newApp.cancel(db, id);
    expect(await newApp.replay(db, { kind: 'sendMail', state: 'cancelled' })).toMatchObject([
      { id, result: 'done' },
    ]);
  });
}
