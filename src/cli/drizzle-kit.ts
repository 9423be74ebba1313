/** The app's own drizzle-kit, as a process. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { CliError } from './cli-error.js';

/** The program of the drizzle-kit that is installed where the command runs, not of one beside this package. */
export function findDrizzleKit(): string {
  let folder: string;
  try {
    folder = dirname(createRequire(resolve('package.json')).resolve('drizzle-kit'));
  } catch {
    throw new CliError(
      `drizzle-kit is not installed in ${process.cwd()}: npm install --save-dev drizzle-kit.`,
    );
  }
  // Its exports hide its package.json.
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, bin['drizzle-kit']);
}

/** Runs `generate --custom`. drizzle-kit 0.31 also ends with 0 when it refuses: only a new file says that it worked. */
export function generateCustom(
  kit: string,
  config: string,
  name: string,
): Promise<{ exitCode: number | string | null; output: string }> {
  return new Promise((done, failed) => {
    const args = [kit, 'generate', '--custom', `--name=${name}`, `--config=${config}`];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('error', failed);
    child.once('close', (code, signal) => done({ exitCode: code ?? signal, output: output.trim() }));
  });
}
