/** A contender in a process of its own, seen from the harness. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ContenderSpec } from '../contenders/index.js';
import type { Answer, Call, Commands } from './commands.js';

const program = fileURLToPath(new URL('./main.ts', import.meta.url));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
/** Longer than any command of the largest run on a slow machine. */
const longestCommandMs = 5 * 60_000;

export interface ContenderProcess {
  /** Runs a command there. */
  call<Name extends keyof Commands>(
    name: Name,
    ...args: Parameters<Commands[Name]>
  ): Promise<Awaited<ReturnType<Commands[Name]>>>;
  /** Ends its connections and the process. */
  end(): Promise<void>;
}

export function startContender(
  spec: ContenderSpec,
  url: string,
  nodeOptions: readonly string[] = [],
): ContenderProcess {
  const child = fork(program, [JSON.stringify(spec), url], {
    execArgv: [...nodeOptions, '--import', tsx],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output.push(String(chunk));
      output.splice(0, output.length - 50);
    });
  }
  const exit = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${spec.contender} ended (${code ?? signal}):\n${output.join('').slice(-3_000)}`);
  });
  exit.catch(() => {}); // told by the call that it interrupts
  let calls = 0;

  return {
    async call(name, ...args) {
      const call: Call = { id: ++calls, name, args };
      const answer = answerTo(child, call.id, `${spec.contender}: ${name}`);
      child.send(call);
      const answered = await Promise.race([answer, exit]);
      if ('error' in answered) throw new Error(`${spec.contender}: ${name}: ${answered.error}`);
      // What the other side of the channel promises: commands.ts is the same file there.
      return answered.result as never;
    },
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.disconnect();
      const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await gone;
      clearTimeout(timer);
    },
  };
}

function answerTo(child: ChildProcess, id: number, what: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.off('message', hear);
      reject(new Error(`${what}: no answer within ${longestCommandMs / 60_000} minutes`));
    }, longestCommandMs);
    const stop = () => clearTimeout(timer);
    const hear = (message: Answer) => {
      if (message.id !== id) return;
      stop();
      child.off('message', hear);
      child.off('exit', stop); // a process is asked many times
      resolve(message);
    };
    child.on('message', hear);
    child.once('exit', stop);
  });
}
