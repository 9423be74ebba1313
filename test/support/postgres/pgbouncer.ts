/**
 * A real PgBouncer in transaction mode in front of a server, of our own: on 127.0.0.1 only, never as root, and gone
 * when the process that started it is killed. It can be killed and started again on the same port.
 */
import type { ChildProcess } from 'node:child_process';
import { chown, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { until } from '../until.js';
import { freePort } from './free-port.js';
import { type Guard, guardFolder } from './guard.js';
import { ended, isRunning, logOf, startGuarded } from './guarded-process.js';
import { findPgBouncer, type Program } from './pgbouncer-program.js';
import { serverUser } from './server-user.js';

export type PgBouncerOptions = {
  /** Connections to the server for each database and user. @default 2 */
  poolSize?: number | undefined;
  /** By their names in pgbouncer.ini; they go over those here. */
  settings?: Readonly<Record<string, string | number>> | undefined;
};

export type PgBouncer = {
  /** The connection string given, through the pooler. Stays the same over restarts. */
  readonly url: string;
  /** Everything it has on disk; gone after `stop`. */
  readonly folder: string;
  /** Sends a command to its console (`SHOW SERVERS`, `RECONNECT`, …) and gives the answer's rows. */
  command(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Ends it as a crash would: every connection breaks. */
  kill(): Promise<void>;
  /** Starts it again after `kill`. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

export async function startPgBouncer(url: string, options: PgBouncerOptions = {}): Promise<PgBouncer> {
  const program = await findPgBouncer();
  const folder = await mkdtemp(join(tmpdir(), 'drizzle-queue-test-'));
  const guard = guardFolder(folder);
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = `${await freePort()}`;
  const console = new URL(through);
  console.pathname = '/pgbouncer';
  try {
    await writeSettings(folder, new URL(url), Number(through.port), options);
    const { start, kill } = pgBouncerProcess(program, folder, console.href, guard);
    await start();
    return {
      url: through.href,
      folder,
      command: (text) => ask(console.href, text),
      kill,
      start,
      stop: () => guard.release(),
    };
  } catch (error) {
    await guard.release();
    throw error;
  }
}

async function writeSettings(
  folder: string,
  server: URL,
  port: number,
  { poolSize = 2, settings = {} }: PgBouncerOptions,
): Promise<void> {
  const user = decodeURIComponent(server.username) || userInfo().username;
  const password = decodeURIComponent(server.password);
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: password ? 'scram-sha-256' : 'trust',
    auth_file: join(folder, 'users'),
    admin_users: user,
    pool_mode: 'transaction',
    default_pool_size: poolSize,
    max_client_conn: 500,
    // Not 15 s, for which it would not even try after a server was away.
    server_login_retry: 1,
    ...settings,
  };
  const lines = [
    '[databases]',
    `* = host=${server.hostname || '127.0.0.1'} port=${server.port || 5432}`,
    '[pgbouncer]',
    ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
  ];
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  await writeFile(join(folder, 'pgbouncer.ini'), `${lines.join('\n')}\n`, { mode: 0o600 });
  await writeFile(join(folder, 'users'), `${quoted(user)} ${quoted(password)}\n`, { mode: 0o600 });
  if (serverUser.uid === undefined) return;
  for (const path of [folder, join(folder, 'pgbouncer.ini'), join(folder, 'users')]) {
    await chown(path, serverUser.uid, serverUser.gid);
  }
}

function pgBouncerProcess({ path, environment }: Program, folder: string, console: string, guard: Guard) {
  let bouncer: ChildProcess | undefined;

  async function start(): Promise<void> {
    const child = await startGuarded(path, [join(folder, 'pgbouncer.ini')], { folder, guard, environment });
    bouncer = child;
    const up = await until(
      async () => (isRunning(child) ? (await ask(console, 'show version')).length > 0 : 'gone'),
      { what: 'PgBouncer to answer' },
    );
    if (up === 'gone') throw new Error(`PgBouncer did not start: ${await readFile(logOf(folder), 'utf8')}`);
  }

  async function kill(): Promise<void> {
    const child = bouncer;
    if (isRunning(child)) await ended(child, () => child.kill('SIGKILL'));
  }

  return { start, kill };
}

/** The console knows simple queries only. */
async function ask(console: string, command: string) {
  const sql = postgres(console, { max: 1, prepare: false, fetch_types: false, onnotice: () => {} });
  try {
    return [...(await sql.unsafe(command))];
  } finally {
    await sql.end({ timeout: 5 });
  }
}
