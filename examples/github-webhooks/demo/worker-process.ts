/** A worker in a process of its own, as an app deploys it, which can be stopped or killed. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface WorkerProcess {
  readonly name: string;
  /** SIGTERM: running jobs end first. @throws Error when it does not end well */
  stop(): Promise<void>;
  /** SIGKILL: nothing ends first. Resolves once the process is gone. */
  kill(): Promise<void>;
}

/** `crashed` hears of an end that nobody asked for. */
export function startWorker(
  name: string,
  env: { DATABASE_URL: string; SINK_URL: string },
  crashed: (error: Error) => void,
): WorkerProcess {
  const program = fileURLToPath(new URL('../worker.ts', import.meta.url));
  // The arguments of Node that this process runs TypeScript with are passed on by fork.
  const child = fork(program, { env: { ...process.env, ...env, WORKER_NAME: name }, silent: true });
  const exit = once(child, 'exit');
  let asked = false;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-2_000);
    });
  }
  const ended = (how: string) => new Error(`Worker ${name} ended with ${how}. Its last lines:\n${output}`);
  child.on('error', crashed);
  child.on('exit', (code, signal) => {
    if (!asked) crashed(ended(signal ?? `code ${code}`));
  });

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    asked = true;
    child.kill(signal);
    if (child.exitCode === null && child.signalCode === null) await exit;
    return child.exitCode;
  }

  return {
    name,
    async stop() {
      const code = await end('SIGTERM');
      if (code !== 0) throw ended(`code ${code}`);
    },
    async kill() {
      await end('SIGKILL');
    },
  };
}
