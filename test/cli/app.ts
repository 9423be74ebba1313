/**
 * Apps in folders of their own with a real drizzle-kit of either generation. Their packages are links to those of this
 * repository, save the library: it is a copy, built from `src/`, which has to find the app's drizzle-orm and not ours.
 */
import { execFile, spawn } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from 'vitest';
import type { Generation } from '../support/provided.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const packages: Record<Generation, string> = {
  v0: join(root, 'node_modules'),
  v1: join(root, 'test/v1/node_modules'),
};

const { dependencies }: { dependencies: object } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);

/** Titles for `describe.each`. */
export const kits: readonly { kit: string; generation: Generation }[] = [
  { kit: 'drizzle-kit 0.31', generation: 'v0' },
  { kit: 'drizzle-kit 1.0', generation: 'v1' },
];

export interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface App {
  write(file: string, text: string): void;
  read(file: string): string;
  remove(file: string): void;
  /** Every file in a folder with its text, by its path. */
  files(folder: string): Record<string, string>;
  /** Gives it the drizzle-kit and drizzle-orm of a generation, in place of those that it had. */
  install(generation: Generation): void;
  kit(...args: string[]): Promise<Finished>;
  /** Runs `drizzle-queue`. */
  cli(...args: string[]): Promise<Finished>;
}

export interface AppOptions {
  readonly url?: string;
  /** Its schema.ts. @default `schemas.public` */
  readonly schema?: string;
}

const orders = `
export const orders = pgTable('orders', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  email: text('email').notNull(),
});
`;

/** What an app's schema file may be. */
export const schemas = {
  public: `import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
export * from 'drizzle-queue/schema';
${orders}`,
  work: `import { bigint, pgSchema, pgTable, text } from 'drizzle-orm/pg-core';
import { queueTables } from 'drizzle-queue/schema';
export const work = pgSchema('work');
export const { jobs: workJobs } = queueTables({ schema: work });
${orders}`,
  without: `import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
${orders}`,
} as const;

/** At the top of a test file: gives the function that makes apps, from `beforeAll` on; they go after the last test. */
export function useApps(): (generation: Generation, options?: AppOptions) => App {
  let all: string;
  let built: string;
  beforeAll(async () => {
    all = mkdtempSync(join(tmpdir(), 'drizzle-queue-cli-'));
    built = join(all, 'built');
    await promisify(execFile)(process.execPath, [join(root, 'build.mjs'), join(built, 'dist')]);
    cpSync(join(root, 'package.json'), join(built, 'package.json'));
  }, 120_000);
  afterAll(() => rmSync(all, { recursive: true, force: true }));

  return (generation, { url = '', schema = schemas.public } = {}) => {
    const folder = mkdtempSync(join(all, 'app-'));
    const at = (file: string) => join(folder, file);
    const node = (...args: string[]) =>
      run(args, folder, { ...process.env, DATABASE_URL: url, NODE_ENV: '' });
    const app: App = {
      write(file, text) {
        mkdirSync(dirname(at(file)), { recursive: true });
        writeFileSync(at(file), text);
      },
      read: (file) => readFileSync(at(file), 'utf8'),
      remove: (file) => rmSync(at(file), { recursive: true }),
      files: (below) =>
        Object.fromEntries(
          readdirSync(at(below), { recursive: true, withFileTypes: true })
            .filter((entry) => entry.isFile())
            .map((entry) => join(entry.parentPath, entry.name))
            .map((file) => [relative(folder, file), readFileSync(file, 'utf8')]),
        ),
      install(installed) {
        rmSync(at('node_modules'), { recursive: true, force: true });
        cpSync(built, at('node_modules/drizzle-queue'), { recursive: true });
        const link = (from: string, name: string) =>
          symlinkSync(join(from, name), at(`node_modules/${name}`), 'junction');
        for (const name of ['drizzle-kit', 'drizzle-orm']) link(packages[installed], name);
        for (const name of Object.keys(dependencies)) link(packages.v0, name);
      },
      kit: (...args) => node('node_modules/drizzle-kit/bin.cjs', ...args),
      cli: (...args) => node('node_modules/drizzle-queue/dist/cli.js', ...args),
    };
    app.install(generation);
    app.write('package.json', JSON.stringify({ name: 'app', private: true, type: 'module' }));
    app.write('schema.ts', schema);
    app.write('drizzle.config.ts', config());
    return app;
  };
}

/** A drizzle.config.ts; more fields go behind the usual ones. */
export function config(more = ''): string {
  return `import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './schema.ts',
  dbCredentials: { url: process.env['DATABASE_URL'] ?? '' },
  ${more}
});
`;
}

function run(args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Finished> {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        output[stream] += text;
      });
    }
    child.once('error', failed);
    child.once('close', (exitCode) => done({ exitCode, ...output }));
  });
}
