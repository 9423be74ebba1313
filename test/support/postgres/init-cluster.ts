/**
 * Makes the data folder of a new server with `initdb`.
 */
import { spawn } from 'node:child_process';
import { chown, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Guard } from './guard.js';
import { serverEnvironment, serverUser } from './server-user.js';

export type Cluster = { bin: string; folder: string; data: string; password: string };

/** @throws Error with what initdb wrote to stderr. */
export async function initCluster({ bin, folder, data, password }: Cluster, guard: Guard): Promise<void> {
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (serverUser.uid !== undefined) await chown(passwordFile, serverUser.uid, serverUser.gid);
  const options = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  const text = ['--encoding=UTF8', '--locale=C'];
  await run(join(bin, 'initdb'), [`--pgdata=${data}`, '--no-sync', ...options, ...text], folder, guard);
  await rm(passwordFile);
}

function run(program: string, args: string[], cwd: string, guard: Guard): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (reason: string) => reject(new Error(`initdb failed (${program}): ${reason.trim()}`));
    const child = spawn(program, args, {
      ...serverUser,
      cwd,
      env: serverEnvironment,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    guard.watch(child.pid);
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.once('error', (error) => failed(error.message));
    child.once('close', (code, signal) => {
      guard.watch(undefined);
      if (code === 0) resolve();
      else failed(stderr || `it ended with ${signal ?? `exit code ${code}`} and said nothing`);
    });
  });
}
