/**
 * Cleans up after a server whose owner may be killed without warning. A shell holds the other end of a pipe:
 * when the owner is gone, for whatever reason, the pipe ends; the shell then ends the server and removes its
 * folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';

export type Guard = {
  /** Names the process that uses the folder now; undefined when there is none. */
  watch(pid: number | undefined): void;
  /** Ends what is watched and removes the folder. */
  release(): Promise<void>;
};

/**
 * Reads one pid a line. SIGQUIT ends Postgres and initdb at once. Their folder is removed only when they are
 * gone, with initdb's own children, which are in its group: without it they die in a way that leaves shared
 * memory behind.
 */
const SCRIPT = `
while read -r pid; do process=$pid; done
if [ -n "$process" ] && kill -s QUIT "$process"; then
  tries=0
  while kill -s 0 -- "-$process" && [ $tries -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
fi
rm -rf "$1"
`;

export function guardFolder(folder: string): Guard {
  if (process.platform === 'win32') return unguarded(folder);
  // Detached: Ctrl-C in a terminal reaches the whole group of the runner, and the guard has to outlive it.
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'guard', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.unref();
  // A guard that somebody killed must not take the tests with it.
  shell.stdin.on('error', () => {});
  if (shell.stdin instanceof Socket) shell.stdin.unref();
  return {
    watch: (pid) => {
      shell.stdin.write(`${pid ?? ''}\n`);
    },
    release: () => endAndWait(shell),
  };
}

async function endAndWait(shell: ChildProcess): Promise<void> {
  if (shell.exitCode !== null || shell.signalCode !== null) return;
  shell.ref();
  const exit = once(shell, 'exit');
  shell.stdin?.end();
  await exit;
}

/** Windows has no such shell: there a killed owner leaves its server and folder behind. */
function unguarded(folder: string): Guard {
  let watched: number | undefined;
  return {
    watch: (pid) => {
      watched = pid;
    },
    release: async () => {
      if (watched !== undefined) process.kill(watched);
      await rm(folder, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}
