/** Every code block of the README compiles, as one app under a strict compiler, on both generations of Drizzle. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { readmeCode } from './support/readme.js';

const root = join(import.meta.dirname, '..');
const compiler = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc');
mkdirSync(join(root, '.tmp'), { recursive: true });
const app = mkdtempSync(join(root, '.tmp/readme-'));
afterAll(() => rmSync(app, { recursive: true, force: true }));

/** What fragments take for granted. */
const given = `import { drizzle } from 'drizzle-orm/postgres-js';
import { queue, registry } from './jobs.js';
const db = drizzle('');
`;

test.each(['tsconfig.json', 'tsconfig.v1.json'])('the README compiles under %s', async (config) => {
  const { files, fragments } = readmeCode();
  expect(files.size).toBeGreaterThanOrEqual(6);
  expect(fragments.length).toBeGreaterThanOrEqual(3);
  for (const [file, code] of files) write(file, code);
  for (const [n, code] of fragments.entries()) write(`fragment-${n}.ts`, given + code);
  write('tsconfig.json', JSON.stringify(compilerConfig(config)));
  expect(await compile()).toBe('');
});

function write(file: string, text: string): void {
  mkdirSync(dirname(join(app, file)), { recursive: true });
  writeFileSync(join(app, file), text);
}

function compilerConfig(base: string) {
  const v1 = 'test/v1/node_modules/drizzle-orm';
  const drizzle = {
    'drizzle-orm': [join(root, v1, 'index.d.ts')],
    'drizzle-orm/pg-core': [join(root, v1, 'pg-core/index.d.ts')],
    'drizzle-orm/*': [join(root, v1, '*/index.d.ts')],
  };
  return {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noUnusedLocals: false,
      noUnusedParameters: false,
      paths: {
        'drizzle-queue': [join(root, 'src/index.ts')],
        'drizzle-queue/*': [join(root, 'src/*.ts')],
        ...(base === 'tsconfig.v1.json' ? drizzle : {}),
      },
    },
    include: ['**/*.ts'],
    exclude: [],
  };
}

/** What the compiler says; nothing when all is well. */
async function compile(): Promise<string> {
  try {
    return (await promisify(execFile)(process.execPath, [compiler, '-p', app, '--pretty', 'false'])).stdout;
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout ?? error);
  }
}
