/** The queue's statements and its table stay as they are, whatever options `drizzle()` was given. */
import { eq, sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { until } from '../support/until.js';
import { queue } from './app.js';
import { logged, type OptionsCase } from './drizzle-options.js';
import type { UsedDriver } from './stage.js';
import { withWorker } from './worker-stage.js';

const { jobs } = queue.tables;

export function drizzleOptionsTests(
  used: UsedDriver,
  { receipts, columns, relational, options }: OptionsCase,
): void {
  it('changes nothing about jobs, beside tables of the app that it does change', async () => {
    const [id, greetJob] = columns.map((name) => sql.identifier(name));
    await used.read(sql`create table receipts (${id} bigint primary key, ${greetJob} bigint)`);
    try {
      const runAt = '2999-01-01T00:00:00.000Z';
      const greeting = await used.db.transaction(async (tx) => {
        const enqueued = await queue.enqueue(tx, 'greet', { snake_case: 1, camelCase: 2 }, { runAt });
        await tx.insert(receipts).values({ receiptId: 7, greetJob: enqueued.id });
        return enqueued;
      });
      await queue.enqueueMany(used.db, [{ kind: 'task', payload: { does: 'complete' } }]);
      logged.length = 0;
      const seen = await withWorker(
        used,
        (_, job) => used.db.transaction((tx) => job.complete(tx)),
        (seen) => until(() => seen.completed, { what: 'the task' }).then(() => {}),
      );
      expect(seen.error).toBeUndefined();
      if ('logger' in options)
        expect(logged).toContainEqual(expect.stringContaining('delete from "public"."jobs"'));

      const job = { id: greeting.id, payload: { snake_case: 1, camelCase: 2 }, runAt: new Date(runAt) };
      const joined = await used.db
        .select({
          receipt: receipts.receiptId,
          job: { id: jobs.id, payload: jobs.payload, runAt: jobs.runAt },
        })
        .from(receipts)
        .innerJoin(jobs, eq(jobs.id, receipts.greetJob));
      expect(joined).toEqual([{ receipt: 7, job }]);
      expect(await used.db.select().from(jobs)).toEqual([
        expect.objectContaining({ ...job, maxAttempts: 3 }),
      ]);
      if (relational)
        expect(await receiptsWithJobs(used)).toEqual([
          expect.objectContaining({ job: expect.objectContaining(job) }),
        ]);
    } finally {
      await used.read(sql`drop table receipts`);
      await used.read(sql`truncate jobs`);
    }
  });
}

interface Relational {
  readonly receipts: {
    findMany(options: { readonly with: { readonly job: true } }): Promise<readonly unknown[]>;
  };
}

/** By a relational query, which the shared type of all drivers' databases does not know. */
async function receiptsWithJobs({ db }: UsedDriver): Promise<readonly unknown[]> {
  const query: unknown = db.query;
  return (query as Relational).receipts.findMany({ with: { job: true } });
}
