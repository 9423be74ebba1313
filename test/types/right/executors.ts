/** Every Drizzle database and transaction that the library takes, none of which may be `any` by accident. */
import type { drizzle as drizzleOnBun } from 'drizzle-orm/bun-sql';
import type { NeonHttpDatabase } from 'drizzle-orm/neon-http';
import type { NeonDatabase } from 'drizzle-orm/neon-serverless';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { PgliteDatabase } from 'drizzle-orm/pglite';
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type { VercelPgDatabase } from 'drizzle-orm/vercel-postgres';
import { expectTypeOf } from 'vitest';
import type { Database, Transaction } from '../../../src/index.js';
import { createWorker } from '../../../src/worker.js';
import { queue, registry, strictQueue } from '../app.js';

// Its name differs by generation.
type BunSQLDatabase = ReturnType<typeof drizzleOnBun>;

/** The transaction of a database. */
type TransactionOf<Db extends { transaction(run: never): unknown }> = Parameters<
  Parameters<Db['transaction']>[0]
>[0];

expectTypeOf<PostgresJsDatabase>().not.toBeAny();
expectTypeOf<PostgresJsDatabase>().toExtend<Database>();
expectTypeOf<TransactionOf<PostgresJsDatabase>>().not.toBeAny();
expectTypeOf<TransactionOf<PostgresJsDatabase>>().toExtend<Transaction>();
expectTypeOf<TransactionOf<PostgresJsDatabase>>().not.toExtend<Database>();
expectTypeOf<PostgresJsDatabase>().not.toExtend<Transaction>();

expectTypeOf<NodePgDatabase>().not.toBeAny();
expectTypeOf<NodePgDatabase>().toExtend<Database>();
expectTypeOf<TransactionOf<NodePgDatabase>>().not.toBeAny();
expectTypeOf<TransactionOf<NodePgDatabase>>().toExtend<Transaction>();
expectTypeOf<TransactionOf<NodePgDatabase>>().not.toExtend<Database>();
expectTypeOf<NodePgDatabase>().not.toExtend<Transaction>();

expectTypeOf<PgliteDatabase>().not.toBeAny();
expectTypeOf<PgliteDatabase>().toExtend<Database>();
expectTypeOf<TransactionOf<PgliteDatabase>>().not.toBeAny();
expectTypeOf<TransactionOf<PgliteDatabase>>().toExtend<Transaction>();
expectTypeOf<TransactionOf<PgliteDatabase>>().not.toExtend<Database>();
expectTypeOf<PgliteDatabase>().not.toExtend<Transaction>();

expectTypeOf<NeonDatabase>().not.toBeAny();
expectTypeOf<NeonDatabase>().toExtend<Database>();
expectTypeOf<TransactionOf<NeonDatabase>>().not.toBeAny();
expectTypeOf<TransactionOf<NeonDatabase>>().toExtend<Transaction>();
expectTypeOf<TransactionOf<NeonDatabase>>().not.toExtend<Database>();
expectTypeOf<NeonDatabase>().not.toExtend<Transaction>();

expectTypeOf<NeonHttpDatabase>().not.toBeAny();
expectTypeOf<NeonHttpDatabase>().toExtend<Database>();
expectTypeOf<TransactionOf<NeonHttpDatabase>>().not.toBeAny();
expectTypeOf<TransactionOf<NeonHttpDatabase>>().toExtend<Transaction>();
expectTypeOf<TransactionOf<NeonHttpDatabase>>().not.toExtend<Database>();
expectTypeOf<NeonHttpDatabase>().not.toExtend<Transaction>();

expectTypeOf<VercelPgDatabase>().not.toBeAny();
expectTypeOf<VercelPgDatabase>().toExtend<Database>();
expectTypeOf<TransactionOf<VercelPgDatabase>>().not.toBeAny();
expectTypeOf<TransactionOf<VercelPgDatabase>>().toExtend<Transaction>();
expectTypeOf<TransactionOf<VercelPgDatabase>>().not.toExtend<Database>();
expectTypeOf<VercelPgDatabase>().not.toExtend<Transaction>();

expectTypeOf<BunSQLDatabase>().not.toBeAny();
expectTypeOf<BunSQLDatabase>().toExtend<Database>();
expectTypeOf<TransactionOf<BunSQLDatabase>>().not.toBeAny();
expectTypeOf<TransactionOf<BunSQLDatabase>>().toExtend<Transaction>();
expectTypeOf<TransactionOf<BunSQLDatabase>>().not.toExtend<Database>();
expectTypeOf<BunSQLDatabase>().not.toExtend<Transaction>();

/** Enqueues with each database, and inside the transaction of each. */
export async function enqueueOnEach(
  postgresJs: PostgresJsDatabase,
  nodePostgres: NodePgDatabase,
  pglite: PgliteDatabase,
  neon: NeonDatabase,
  neonHttp: NeonHttpDatabase,
  vercel: VercelPgDatabase,
  bun: BunSQLDatabase,
): Promise<void> {
  await queue.enqueue(postgresJs, 'ping');
  await queue.enqueue(nodePostgres, 'ping');
  await queue.enqueue(pglite, 'ping');
  await queue.enqueue(neon, 'ping');
  await queue.enqueue(neonHttp, 'ping');
  await queue.enqueue(vercel, 'ping');
  await queue.enqueue(bun, 'ping');

  await postgresJs.transaction((tx) => strictQueue.enqueue(tx, 'ping'));
  await nodePostgres.transaction((tx) => strictQueue.enqueue(tx, 'ping'));
  await pglite.transaction((tx) => strictQueue.enqueue(tx, 'ping'));
  await neon.transaction((tx) => strictQueue.enqueue(tx, 'ping'));
  await vercel.transaction((tx) => strictQueue.enqueue(tx, 'ping'));
  await bun.transaction((tx) => strictQueue.enqueue(tx, 'ping'));
}

/** A repository's `db | tx` is as good as either. */
export async function enqueueOnEither(
  either: PostgresJsDatabase | TransactionOf<PostgresJsDatabase>,
  other: NodePgDatabase | TransactionOf<PgliteDatabase>,
): Promise<void> {
  await queue.enqueue(either, 'ping');
  await queue.enqueueMany(other, [{ kind: 'ping' }]);
}

export function workOnAny(
  db: PostgresJsDatabase | NodePgDatabase | PgliteDatabase | NeonDatabase | VercelPgDatabase | BunSQLDatabase,
) {
  return createWorker({
    db,
    registry,
    queues: { reports: 1 },
    handlers: { countOrders: () => ({ count: 0 }) },
  });
}
