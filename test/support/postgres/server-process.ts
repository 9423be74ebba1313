/**
 * One `postgres` process over a data folder: start it, end it, start it again.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../until.js';
import type { Guard } from './guard.js';
import type { Cluster } from './init-cluster.js';
import { type Settings, type ShutdownMode, settingArguments } from './postgres.js';
import { serverEnvironment, serverUser } from './server-user.js';

/** Recovery after a crash counts too. */
const START_LIMIT_MS = 60_000;

export type ServerProcess = {
  /**
   * Resolves once the server takes connections.
   * @throws Error with the end of its log when it does not come up.
   */
  start(port: number): Promise<void>;
  /** Resolves once the process is gone; does nothing when it is not running. */
  halt(mode: ShutdownMode): Promise<void>;
  log(): Promise<string>;
};

export function serverProcess(
  { bin, folder, data }: Cluster,
  settings: Settings,
  guard: Guard,
): ServerProcess {
  const logFile = join(folder, 'log');
  let running: ChildProcess | undefined;

  async function start(port: number): Promise<void> {
    if (running) return;
    // A file, not a pipe: a runner too busy to read must not stop the server.
    const log = await open(logFile, 'a');
    const address = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '' };
    const child = spawn(
      join(bin, 'postgres'),
      ['-D', data, ...settingArguments({ ...settings, ...address })],
      {
        ...serverUser,
        cwd: folder,
        env: serverEnvironment,
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
      },
    );
    const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    exit.then(() => {
      guard.watch(undefined);
      if (running === child) running = undefined;
    });
    try {
      await once(child, 'spawn');
    } finally {
      await log.close();
    }
    running = child;
    guard.watch(child.pid);
    child.unref();
    const up = await until(async () => (running !== child ? 'gone' : await isReady(data, child)), {
      what: `Postgres on port ${port}`,
      timeoutMs: START_LIMIT_MS,
    });
    if (up === 'gone')
      throw new Error(`Postgres did not start: ${lastLines(await readFile(logFile, 'utf8'))}`);
  }

  async function halt(mode: ShutdownMode): Promise<void> {
    const child = running;
    if (!child) return;
    child.ref();
    const exit = once(child, 'exit');
    await signal(bin, child, mode);
    await exit;
  }

  return { start, halt, log: () => readFile(logFile, 'utf8') };
}

/**
 * As pg_ctl does it: no connection, so no other server on the port can be taken for this one. A `standby` is one that
 * takes reading connections.
 */
async function isReady(data: string, child: ChildProcess): Promise<boolean> {
  const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n');
  return Number(lines[0]) === child.pid && /^(?:ready|standby)$/.test(lines[7]?.trim() ?? '');
}

async function signal(bin: string, child: ChildProcess, mode: ShutdownMode): Promise<void> {
  const name = mode === 'fast' ? 'INT' : 'QUIT';
  // Windows has no signals; Postgres has its own there.
  if (process.platform === 'win32')
    await promisify(execFile)(join(bin, 'pg_ctl'), ['kill', name, `${child.pid}`]);
  else child.kill(`SIG${name}`);
}

function lastLines(log: string): string {
  return log.trim().split('\n').slice(-5).join(' | ');
}
