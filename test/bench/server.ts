/** The bench's own Postgres, as safe as in production: fsync and synchronous_commit are on. */
import postgres from 'postgres';
import { asAdmin, type EmbeddedPostgres, startEmbedded } from '../support/postgres/index.js';
import { withDatabase } from '../support/template.js';
import { type LoggedStatement, logLinePrefix, statementsIn } from './statement-log.js';

/** Checkpoints come between the measurements, not within. */
export const serverSettings = {
  fsync: 'on',
  synchronous_commit: 'on',
  shared_buffers: '512MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  max_connections: 300,
  log_line_prefix: logLinePrefix,
} as const;

export interface Database {
  readonly name: string;
  readonly url: string;
  /** Vacuums, analyses and writes out what came before, so that no contender pays for it. */
  settle(): Promise<void>;
  /** Holds a snapshot that keeps dead rows from being removed; the answer lets go of it. */
  pin(): Promise<() => Promise<void>>;
  /** How many statements others send while `work` runs, where they are logged. */
  statementsDuring(work: () => Promise<void>): Promise<number>;
  /** The statements logged so far. */
  statements(): Promise<readonly LoggedStatement[]>;
  drop(): Promise<void>;
}

export interface Server {
  readonly version: string;
  /** An empty database, or a copy of one; `large` says how the copy is made, not what is in it. */
  createDatabase(copyOf?: Database, large?: boolean): Promise<Database>;
  stop(): Promise<void>;
}

export async function startServer(): Promise<Server> {
  const server = await startEmbedded({ settings: serverSettings });
  let made = 0;
  return {
    version: server.version,
    async createDatabase(copyOf, large = false) {
      const name = `bench_${++made}`;
      await asAdmin(server.url, async (sql) => {
        if (!copyOf) await sql`create database ${sql(name)}`;
        else {
          await closed(server.url, copyOf.name);
          const strategy = large ? sql`file_copy` : sql`wal_log`;
          await sql`create database ${sql(name)} template ${sql(copyOf.name)} strategy ${strategy}`;
        }
      });
      return database(server, name);
    },
    stop: () => server.stop(),
  };
}

function database(server: EmbeddedPostgres, name: string): Database {
  const url = withDatabase(server.url, name);
  const statements = async () => statementsIn(await server.log(), name);
  return {
    name,
    url,
    settle: () =>
      asAdmin(url, async (sql) => {
        await sql`vacuum analyze`;
        await sql`checkpoint`;
      }),
    async pin() {
      const sql = postgres(url, { max: 1 });
      const connection = await sql.reserve();
      await connection`begin isolation level repeatable read`;
      await connection`select count(*) from pg_class`;
      return async () => {
        await connection`rollback`;
        connection.release();
        await sql.end({ timeout: 5 });
      };
    },
    async statementsDuring(work) {
      const { length: before } = await statements();
      await work();
      return (await statements()).length - before;
    },
    statements,
    drop: () => asAdmin(server.url, (sql) => sql`drop database ${sql(name)} with (force)`).then(() => {}),
  };
}

/** Makes the server log every statement in the database, without its parameters, for connections from now on. */
export async function logStatements(database: Database): Promise<void> {
  await asAdmin(database.url, async (sql) => {
    await sql`alter database ${sql(database.name)} set log_statement = 'all'`;
    await sql`alter database ${sql(database.name)} set log_parameter_max_length = 0`;
  });
}

/** A process that ended stays visible until the server has noticed. */
async function closed(adminUrl: string, name: string): Promise<void> {
  await asAdmin(
    adminUrl,
    (sql) => sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${name}`,
  );
}
