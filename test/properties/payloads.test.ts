/**
 * Any JSON comes out of the table as it went in, through every driver and by every way in and out; and what is not JSON
 * is refused with its place before anything is sent.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, type JsonValue, job } from '../../src/index.js';
import { claim } from '../../src/sql/claim.js';
import { useDriver } from '../drivers/stage.js';
import { drivers } from '../support/drivers.js';
import { table } from '../support/jobs.js';
import { asJson, bad, deep, json } from './json.js';

const registry = defineJobs({ keep: job<JsonValue>() });
const queue = createQueue(registry);
const { jobs } = queue.tables;

describe.each(drivers)('on %s', (driver) => {
  const used = useDriver(driver);
  afterEach(() => used.read(sql`truncate jobs`));

  it('payloads arrive as they were sent', async () => {
    const payloads = fc.array(fc.oneof({ weight: 9, arbitrary: json }, { weight: 1, arbitrary: deep }), {
      minLength: 1,
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(payloads, async (sent) => {
        await used.read(sql`truncate jobs`);
        for (const payload of sent) await queue.enqueue(used.db, 'keep', payload);
        await queue.enqueueMany(
          used.db,
          sent.map((payload) => ({ kind: 'keep', payload })),
        );
        const expected = [...sent, ...sent].map(asJson);

        const rows = await used.db.select().from(jobs).orderBy(jobs.id);
        deepStrictEqual(
          rows.map((row) => row.payload),
          expected.map(parsedAgain),
        );
        const request = { want: new Map([['default', 1_000]]), kinds: ['keep'], lockedBy: 'worker/1' };
        const claimed = await claim(used.db, table, request);
        deepStrictEqual(
          claimed.jobs.map((it) => it.payload),
          expected,
        );
      }),
      { numRuns: 40 },
    );
  });

  it('what is no JSON is refused with its path, and the transaction goes on', async () => {
    await fc.assert(
      fc.asyncProperty(bad, async ({ payload, path }) => {
        const refused = { code: 'INVALID_PAYLOAD', data: { kind: 'keep', path } };
        await used.db.transaction(async (tx) => {
          await expect(plainly(queue.enqueue, tx, 'keep', payload)).rejects.toMatchObject(refused);
          const list = [
            { kind: 'keep', payload: 1 },
            { kind: 'keep', payload },
          ];
          await expect(plainly(queue.enqueueMany, tx, list)).rejects.toMatchObject({
            ...refused,
            data: { ...refused.data, index: 1 },
          });
          await queue.enqueue(tx, 'keep', 'still usable');
        });
      }),
      { numRuns: 100 },
    );
    const [{ others } = { others: undefined }] = await used.read(
      sql`select count(*) filter (where payload <> '"still usable"')::int as others from jobs`,
    );
    expect(others).toBe(0);
  });
});

/** Drizzle 0.45 parses a text that comes out of a jsonb column once more. */
function parsedAgain(payload: unknown): unknown {
  if (typeof payload !== 'string') return payload;
  try {
    return JSON.parse(payload);
  } catch {
    return payload;
  }
}

/** As plain JavaScript may call it, with anything. */
function plainly(
  method: typeof queue.enqueue | typeof queue.enqueueMany,
  ...given: readonly unknown[]
): Promise<unknown> {
  return Reflect.apply(method, undefined, given);
}
