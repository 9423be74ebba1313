/** Compiles the fixtures on one generation of Drizzle, in a copy of the tree where no error is expected any more. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Generation } from '../support/provided.js';
import {
  type Diagnostic,
  type ExpectedError,
  expectedErrors,
  readDiagnostics,
  withoutMarkers,
} from './expected-errors.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const configs: Record<Generation, string> = { v0: 'tsconfig.json', v1: 'tsconfig.v1.json' };

export interface Compiled {
  readonly expected: readonly ExpectedError[];
  readonly actual: readonly Diagnostic[];
}

/** @throws Error when the compiler ends in another way than with a list of errors in files. */
export async function compileFixtures(generation: Generation): Promise<Compiled> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'drizzle-queue-types-')));
  try {
    // Imports of the sources and packages stay as they are.
    for (const name of ['src', 'node_modules', 'package.json'])
      await symlink(join(root, name), join(folder, name));
    const expected = await copyFixtures(folder);
    const config = { extends: join(root, configs[generation]), include: ['test'], exclude: [] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    return { expected, actual: readDiagnostics(await runCompiler(folder)) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function copyFixtures(folder: string): Promise<ExpectedError[]> {
  const expected: ExpectedError[] = [];
  for (const part of ['test/types/right', 'test/types/wrong']) {
    await mkdir(join(folder, part), { recursive: true });
    for (const name of await readdir(join(root, part)))
      expected.push(...(await copyFixture(folder, `${part}/${name}`)));
  }
  expected.push(...(await copyFixture(folder, 'test/types/app.ts')));
  return expected;
}

async function copyFixture(folder: string, file: string): Promise<ExpectedError[]> {
  const source = await readFile(join(root, file), 'utf8');
  await writeFile(join(folder, file), withoutMarkers(source));
  return expectedErrors(file, source);
}

function runCompiler(folder: string): Promise<string> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [tsc, '-p', folder, '--pretty', 'false'],
      { cwd: folder, maxBuffer: 1e8 },
      (error, output, noise) => {
        // 1 and 2 mean that errors were found, which is what the fixtures are for.
        if (error && error.code !== 1 && error.code !== 2) reject(new Error(`tsc failed: ${noise}${output}`));
        else if (output !== '' && readDiagnostics(output).length === 0)
          reject(new Error(`tsc said: ${output}`));
        else resolve(output);
      },
    );
  });
}
