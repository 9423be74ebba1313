/** A worker's options, as they are given and as the worker reads them. */
import type { AnyQueueTables } from '../database/any-tables.js';
import type { Database } from '../database/executor.js';
import type { TableName } from '../database/table-name.js';
import type { JobsTable, QueueTables } from '../database/tables.js';
import type { Handlers, JobContext, KindsOn } from '../registry/handlers.js';
import type { JobTypes, Registry } from '../registry/registry.js';
import type { Versioned } from '../registry/upgrades.js';
import type { Log } from './log.js';

/** What `createWorker` takes. */
export interface WorkerOptions<
  Kinds extends JobTypes,
  Queue extends Kinds[keyof Kinds]['$queue'],
  Kind extends KindsOn<Kinds, Queue>,
> {
  /** The Drizzle database. Best with a pool of its own, so that the app's queries cannot keep heartbeats waiting. */
  readonly db: Database;
  /**
   * A Drizzle database on postgres.js or node-postgres whose connections go straight to Postgres, where those of `db` go
   * through a pooler such as PgBouncer. The worker makes one connection with its options: to be told of new jobs, and to
   * show others that it lives. @default db
   */
  readonly directDb?: Database | undefined;
  readonly registry: Registry<Kinds>;
  /** Queue names, each with how many of its jobs run at once in this process: from 1 to 10000. */
  readonly queues: { readonly [Name in Queue]: number };
  /** Exactly the handlers of the kinds on these queues, or of `kinds`. */
  readonly handlers: Handlers<Registry<Kinds>, NoInfer<Kind>>;
  /** Serve only these kinds; others are left for other workers. @default all kinds on the queues */
  readonly kinds?: readonly Kind[] | undefined;
  /** What `queueTables({ schema })` gave. @default the tables of `drizzle-queue/schema` */
  readonly tables?: AnyQueueTables | undefined;
  /** The longest time between two looks for jobs while there are none, in ms: from 10 to 3600000. @default 1_000 */
  readonly pollIntervalMs?: number | undefined;
  /**
   * The time between two signs of life of running jobs, in ms: from 100 to 600000, and at most half of the
   * `rescueAfterMs` of every kind served.
   * @default 10_000
   */
  readonly heartbeatMs?: number | undefined;
  /** How long `stop()` lets running jobs go on, in ms: from 0 to 3600000. @default 25_000 */
  readonly graceMs?: number | undefined;
  /** Where log lines go, or `false` for nowhere. @default console */
  readonly log?: Log | false | undefined;
}

/** A kind as the worker runs it. */
export interface ServedKind extends Versioned {
  /** As the registry has it; a row may be called by an alias. */
  readonly name: string;
  readonly handler: (payload: unknown, job: JobContext<string, unknown>) => unknown;
  readonly timeoutMs: number;
  /** Whether the row stays when the job completes, with its result. */
  readonly keeps: boolean;
  readonly retry: ((error: unknown, attempt: number, payload: unknown) => unknown) | undefined;
}

/** The options with every default filled in. */
export interface Settings {
  readonly db: Database;
  readonly directDb: Database | undefined;
  readonly tables: QueueTables;
  readonly jobs: JobsTable;
  /** Its name. */
  readonly table: TableName;
  readonly slots: ReadonlyMap<string, number>;
  /** By what rows may be called: kinds and their aliases. */
  readonly kinds: ReadonlyMap<string, ServedKind>;
  /** Whether those are all kinds on its queues. */
  readonly servesAllKinds: boolean;
  readonly pollIntervalMs: number;
  readonly heartbeatMs: number;
  /** The shortest `rescueAfterMs` of the kinds served. */
  readonly leaseMs: number;
  /** How long a heartbeat's statement may take, so that there is time for another before the jobs look dead. */
  readonly heartbeatLimitMs: number;
  readonly graceMs: number;
  readonly log: Log | undefined;
}
