/**
 * Compiles the fixtures as an app would, in a copy where no error is expected any more: against the declarations that
 * the package ships, on each generation of Drizzle, with each TypeScript.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Generation } from '../support/provided.js';
import {
  type Diagnostic,
  type ExpectedError,
  expectedErrors,
  readDiagnostics,
  withoutMarkers,
} from './expected-errors.js';

/** The oldest that is supported, the last with the old compiler, and the newest; by the package's name here. */
export const compilers = ['typescript-5.4', 'typescript-5.9', 'typescript'] as const;
export type Compiler = (typeof compilers)[number];

const root = fileURLToPath(new URL('../..', import.meta.url));
const configs: Record<Generation, string> = { v0: 'tsconfig.json', v1: 'tsconfig.v1.json' };

export interface Fixtures {
  readonly expected: readonly ExpectedError[];
  /** @throws Error when the compiler ends in another way than with a list of errors in files. */
  compile(generation: Generation, compiler: Compiler): Promise<Diagnostic[]>;
  remove(): Promise<void>;
}

/** Builds the declarations and copies the fixtures beside them. */
export async function prepareFixtures(): Promise<Fixtures> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'drizzle-queue-types-')));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await mkdir(join(folder, 'test'));
    for (const name of ['node_modules', 'package.json', 'test/v1'])
      await symlink(join(root, name), join(folder, name));
    // Where the fixtures import the sources from, they find what was made of them.
    await promisify(execFile)(process.execPath, [join(root, 'build.mjs'), join(folder, 'src')]);
    const expected = await copyFixtures(folder);
    for (const [generation, config] of Object.entries(configs))
      await copyConfig(config, join(folder, `tsconfig.${generation}.json`));
    return {
      expected,
      compile: async (generation, compiler) =>
        readDiagnostics(await runCompiler(folder, `tsconfig.${generation}.json`, compiler)),
      remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** With a `lib` that TypeScript 5.4 knows, and the paths as they are, since the copy has test/v1 too. */
async function copyConfig(config: string, copy: string): Promise<void> {
  const { compilerOptions } = JSON.parse(await readFile(join(root, 'tsconfig.json'), 'utf8'));
  const own = JSON.parse(await readFile(join(root, config), 'utf8'));
  const options = { ...compilerOptions, ...own.compilerOptions, lib: ['es2023'] };
  await writeFile(copy, JSON.stringify({ compilerOptions: options, include: ['test/types'] }));
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

function runCompiler(folder: string, config: string, compiler: Compiler): Promise<string> {
  const tsc = join(root, 'node_modules', compiler, 'bin/tsc');
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [tsc, '-p', config, '--pretty', 'false'],
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
