/** The tests of the app, on whatever database they are given. Each leaves it as it was. */

import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import { sql } from 'drizzle-orm';
import { advance, assertEnqueued, drain, enqueued, perform, rolledBack } from 'drizzle-queue/testing';
import { expect, it, vi } from 'vitest';
import * as app from './app.js';
import { type Db, makeHandlers, orders, placeOrder, queue, registry } from './app.js';

/** The tables as the schema says, in an empty database. An app with migrations runs `migrate` of Drizzle here. */
export async function createTables(db: Db): Promise<void> {
  for (const statement of await generateMigration(generateDrizzleJson({}), generateDrizzleJson(app))) {
    await db.execute(sql.raw(statement));
  }
}

export function appTests(db: () => Db): void {
  it('an order is placed with its receipt', () =>
    rolledBack(db(), async (tx) => {
      const orderId = await placeOrder(tx, 'ada@example.com');
      const receipt = await assertEnqueued(tx, queue, 'sendReceipt', { orderId });
      expect(receipt.queue).toBe('mail');
      expect(await enqueued(tx, queue, 'confirm')).toEqual([]);
    }));

  it('it is confirmed once the receipt is out', () =>
    rolledBack(db(), async (tx) => {
      await placeOrder(tx, 'ada@example.com');
      const send = vi.fn(async () => 200);
      const runs = await drain(tx, { registry, handlers: makeHandlers(tx, send) });
      expect(runs).toMatchObject([
        { kind: 'sendReceipt', outcome: 'completed' },
        { kind: 'confirm', outcome: 'completed' },
      ]);
      expect(send.mock.calls).toEqual([['ada@example.com']]);
      expect(await tx.select().from(orders)).toMatchObject([{ confirmed: true }]);
    }));

  it('a mail server that is down is tried three times', () =>
    rolledBack(db(), async (tx) => {
      await placeOrder(tx, 'ada@example.com');
      const handlers = makeHandlers(tx, async () => 503);
      expect(await drain(tx, { registry, handlers })).toMatchObject([{ outcome: 'failed', attempt: 1 }]);
      await advance(tx, queue, 60_000); // moves the rows a minute into the past: the retry is due
      expect(await drain(tx, { registry, handlers })).toMatchObject([{ outcome: 'failed', attempt: 2 }]);
      await advance(tx, queue, 60_000);
      expect(await drain(tx, { registry, handlers })).toMatchObject([{ outcome: 'discarded', attempt: 3 }]);
      expect(await tx.select().from(orders)).toMatchObject([{ confirmed: false }]);
    }));

  it('a handler by itself: a mail server that is busy is asked again later', () =>
    rolledBack(db(), async (tx) => {
      const [order] = await tx.insert(orders).values({ email: 'ada@example.com' }).returning();
      const { sendReceipt } = makeHandlers(tx, async () => 429);
      const performed = await perform(registry, 'sendReceipt', sendReceipt, { orderId: order?.id ?? 0 });
      expect(performed).toEqual({ outcome: 'snoozed', when: { delayMs: 60_000 } });
    }));

  it('none of them has left anything', async () => {
    expect(await db().select().from(queue.tables.jobs)).toEqual([]);
    expect(await db().select().from(orders)).toEqual([]);
  });
}
