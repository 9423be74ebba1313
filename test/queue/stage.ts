/** What the tests of the queue have in common: a registry, and a database that tells which statements were sent. */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type { Sql } from 'postgres';
import { createQueue, defineJobs, type JsonValue, job } from '../../src/index.js';

export const registry = defineJobs({
  sendReceipt: job<{ orderId: number }>({
    maxAttempts: 5,
    priority: 3,
    rescueAfterMs: 120_000,
  }).queue('mail'),
  keep: job<JsonValue>(),
  ping: job(),
});
export const queue = createQueue(registry);

export interface Logged {
  readonly db: PostgresJsDatabase;
  /** The statements that were sent through `db` and its transactions, in order. */
  readonly statements: string[];
}

/** Drizzle over this client, with a log. */
export function logged(client: Sql): Logged {
  const statements: string[] = [];
  const logger = { logQuery: (text: string) => void statements.push(text) };
  return { db: drizzle({ client, logger }), statements };
}

/** Calls a function of the queue as plain JavaScript may, with anything. */
export function callPlainly(
  method: typeof queue.enqueue | typeof queue.enqueueMany,
  ...given: readonly unknown[]
): Promise<unknown> {
  return Reflect.apply(method, undefined, given);
}
