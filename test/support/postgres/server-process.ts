/**
 * One `postgres` process over a data folder: start it, end it, start it again.
 */
import { type ChildProcess, execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../until.js';
import type { Guard } from './guard.js';
import { ended, isRunning, logOf, startGuarded } from './guarded-process.js';
import type { Cluster } from './init-cluster.js';
import { type Settings, type ShutdownMode, settingArguments } from './postgres.js';

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
  let server: ChildProcess | undefined;

  async function start(port: number): Promise<void> {
    if (isRunning(server)) return;
    const address = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '' };
    const args = ['-D', data, ...settingArguments({ ...settings, ...address })];
    const child = await startGuarded(join(bin, 'postgres'), args, { folder, guard });
    server = child;
    const up = await until(async () => (isRunning(child) ? await isReady(data, child) : 'gone'), {
      what: `Postgres on port ${port}`,
      timeoutMs: START_LIMIT_MS,
    });
    if (up === 'gone') throw new Error(`Postgres did not start: ${lastLines(await log())}`);
  }

  async function halt(mode: ShutdownMode): Promise<void> {
    const child = server;
    if (isRunning(child)) await ended(child, () => signal(bin, child, mode));
  }

  const log = () => readFile(logOf(folder), 'utf8');

  return { start, halt, log };
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
