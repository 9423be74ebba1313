/**
 * Starts a server's program over its folder: what it prints goes to the file `log` there, and its guard knows of it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Guard } from './guard.js';
import { serverEnvironment, serverUser } from './server-user.js';

/** @throws Error of the system when the program cannot be started. */
export async function startGuarded(
  program: string,
  args: readonly string[],
  { folder, guard, environment }: { folder: string; guard: Guard; environment?: NodeJS.ProcessEnv },
): Promise<ChildProcess> {
  // A file, not a pipe: a runner too busy to read must not stop the program.
  const log = await open(logOf(folder), 'a');
  try {
    const child = spawn(program, args, {
      ...serverUser,
      cwd: folder,
      env: { ...serverEnvironment, ...environment },
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    guard.watch(child.pid);
    child.once('exit', () => guard.watch(undefined));
    await once(child, 'spawn');
    child.unref();
    return child;
  } finally {
    await log.close();
  }
}

/** Asked of the process, not kept beside it: one that ended before anybody listened has ended all the same. */
export function isRunning(child: ChildProcess | undefined): child is ChildProcess {
  return child !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Resolves once the process is gone; `end` makes it go. */
export async function ended(child: ChildProcess, end: () => unknown): Promise<void> {
  child.ref();
  const exit = once(child, 'exit');
  await end();
  await exit;
}

export function logOf(folder: string): string {
  return join(folder, 'log');
}
