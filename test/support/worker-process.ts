/**
 * Real processes that run a worker: a TypeScript file of test/worker/fixtures, started by node, that talks to its
 * test in messages. Whatever a test does to them, they are killed after it.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { isAbsolute } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach } from 'vitest';
import { until } from './until.js';

const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type WorkerProcess<Message> = {
  readonly pid: number | undefined;
  /** What it has sent so far. */
  readonly messages: readonly Message[];
  readonly exit: Promise<Exit>;
  /** Undefined while it runs. */
  exited(): Exit | undefined;
  /** What it wrote to stdout and stderr: the reason, when it ended by an error. */
  output(): string;
  send(message: string): void;
  kill(signal: NodeJS.Signals): void;
  /**
   * The first message that fits.
   * @throws Error with the process' output when it ends without one.
   */
  message(fits: (message: Message) => boolean, what: string, timeoutMs?: number): Promise<Message>;
};

/** Call it at the top of a test file. The message type is a promise of the fixture, as `config` is to it. */
export function useProcesses() {
  let children: ChildProcess[] = [];
  afterEach(async () => {
    const alive = children.filter((child) => child.exitCode === null && child.signalCode === null);
    children = [];
    await Promise.all(
      alive.map(async (child) => {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }),
    );
  });

  return {
    /** `fixture`: the name of one in test/worker/fixtures, or a path. */
    start<Message>(
      fixture: string,
      config: unknown,
      nodeOptions: readonly string[] = [],
    ): WorkerProcess<Message> {
      const program = isAbsolute(fixture)
        ? fixture
        : fileURLToPath(new URL(`../worker/fixtures/${fixture}.ts`, import.meta.url));
      const child = fork(program, [JSON.stringify(config)], {
        execArgv: [...nodeOptions, '--import', tsx],
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      });
      children.push(child);
      return watch(child);
    },
  };
}

function watch<Message>(child: ChildProcess): WorkerProcess<Message> {
  const messages: Message[] = [];
  let output = '';
  let exited: Exit | undefined;
  child.on('message', (message) => messages.push(message as Message));
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  const exit = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      exited = { code, signal };
      resolve(exited);
    });
  });
  return {
    pid: child.pid,
    messages,
    exit,
    exited: () => exited,
    output: () => output,
    send: (message) => void child.send(message),
    kill: (signal) => void child.kill(signal),
    async message(fits, what, timeoutMs = 10_000) {
      const found = await until(() => messages.find(fits) ?? (exited && 'exited'), { what, timeoutMs });
      if (found !== 'exited') return found as Message;
      throw new Error(`The process ended (${JSON.stringify(exited)}) before ${what}:\n${output}`);
    },
  };
}
