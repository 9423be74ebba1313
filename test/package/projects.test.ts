/**
 * One app in every kind of project that the README names: installed from the tarball, compiled by each TypeScript, and
 * run until its job is done. ES modules and CommonJS on Node, bundled, and on Bun with either of its drivers.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { environment, generations, install, pack, versions, write } from './packed.js';

const run = promisify(execFile);
const sources = join(import.meta.dirname, 'app');
const folder = mkdtempSync(join(tmpdir(), 'drizzle-queue-projects-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let tarball: string;
beforeAll(async () => {
  ({ tarball } = await pack(folder));
}, 120_000);

const output = 'available: the receipt for this order\nsendReceipt, attempt 1\nleft: 0\n';
const compilers = ['typescript-5.4', 'typescript-5.9', 'typescript'];

/** Kinds of project: `type` of the package.json, and what the tsconfig.json says. */
const projects = [
  { name: 'esm-node16', type: 'module', module: 'node16', moduleResolution: 'node16', by: compilers },
  { name: 'esm-bundler', type: 'module', module: 'esnext', moduleResolution: 'bundler', by: compilers },
  { name: 'cjs-node16', type: 'commonjs', module: 'node16', moduleResolution: 'node16', by: compilers },
  { name: 'cjs-nodenext', type: 'commonjs', module: 'nodenext', moduleResolution: 'nodenext', by: compilers },
  // What `module: commonjs` had by default, until TypeScript 7 removed it.
  {
    name: 'cjs-node10',
    type: 'commonjs',
    module: 'commonjs',
    moduleResolution: 'node10',
    by: compilers.slice(0, 2),
  },
];

describe.each(generations)('on $generation', ({ generation, manifest }) => {
  const home = join(folder, generation.replaceAll(' ', '-'));
  const program = (name: string) => join(home, 'node_modules', name);
  let database: TestDatabase;

  /** Every project is a folder below the one installation. */
  beforeAll(async () => {
    database = await createDatabase({ empty: true });
    write(home, 'package.json', installation(tarball, versions(manifest)));
    await install(home);
    for (const { name, type, module, moduleResolution } of projects) {
      write(home, `${name}/package.json`, { name, type });
      write(home, `${name}/tsconfig.json`, compilerOptions(module, moduleResolution));
      write(home, `${name}/drizzle.config.ts`, kitConfig);
      for (const file of ['schema.ts', 'db.ts', 'app.ts'])
        copyFileSync(join(sources, file), join(home, name, file));
    }
    await drizzleKit('generate');
    await drizzleKit('migrate');
  }, 240_000);
  afterAll(() => database?.drop());

  const start = (command: string, args: string[], project: string) =>
    run(command, args, { cwd: join(home, project), env: environment(database.url) });
  const node = (args: string[], project: string) => start(process.execPath, args, project);
  const drizzleKit = (command: string) => start(program('.bin/drizzle-kit'), [command], 'cjs-node16');

  test('drizzle-kit finds the tables from a CommonJS project', async () => {
    const made = readdirSync(join(home, 'cjs-node16/drizzle'), { recursive: true, encoding: 'utf8' });
    const [sql] = made.filter((file) => file.endsWith('.sql'));
    const migration = readFileSync(join(home, 'cjs-node16/drizzle', sql ?? 'no migration'), 'utf8');
    expect(migration).toContain('CREATE TABLE "jobs"');
    expect(migration).toContain('CREATE TABLE "orders"');
    expect((await drizzleKit('generate')).stdout).toContain('No schema changes');
  });

  describe.each(projects)('in a project $name', ({ name, moduleResolution, by }) => {
    test.each(by)('it compiles with %s, which writes declarations of it', async (compiler) => {
      await node([program(`${compiler}/bin/tsc`), '-p', '.'], name);
      expect(readdirSync(join(home, name, 'out'))).toContain('app.d.ts');
    });

    if (moduleResolution === 'bundler') return; // Node does not run that: see below
    test('it runs as compiled, without a warning', async () => {
      const compiled = readFileSync(join(home, name, 'out/app.js'), 'utf8');
      expect(compiled.includes('require("drizzle-queue")')).toBe(name.startsWith('cjs'));
      expect(await node(['out/app.js'], name)).toEqual({ stdout: output, stderr: '' });
    });
  });

  test.each(['esm', 'cjs'])('it runs bundled into one file of %s', async (format) => {
    const bundle = join(home, `bundle.${format === 'esm' ? 'mjs' : 'cjs'}`);
    const flags = ['--bundle', '--platform=node', `--format=${format}`, `--outfile=${bundle}`];
    await start(program('.bin/esbuild'), ['app.ts', '--log-level=warning', ...flags], 'esm-bundler');
    expect(await node([bundle], 'esm-bundler')).toEqual({ stdout: output, stderr: '' });
  });

  test('require() and import give the same module', async () => {
    const entries = ['', '/schema', '/testing', '/worker'].map((entry) => `drizzle-queue${entry}`);
    const script = `for (const name of ${JSON.stringify(entries)})
      import(name).then((esm) => console.log(name, Object.keys(esm).length > 0 && Object.keys(esm).every((key) => require(name)[key] === esm[key])));`;
    const { stdout } = await node(['-e', script], 'cjs-node16');
    expect(stdout.trim().split('\n').sort()).toEqual(entries.map((name) => `${name} true`));
  });

  test.each([
    { driver: 'postgres.js', file: 'db.ts' },
    { driver: 'Bun.SQL', file: 'bun-db.ts' },
  ])('it runs on Bun with $driver', async ({ file }) => {
    const project = `bun-${file.replace('.ts', '')}`;
    write(home, `${project}/package.json`, { name: project, type: 'module' });
    for (const name of ['schema.ts', 'app.ts']) copyFileSync(join(sources, name), join(home, project, name));
    copyFileSync(join(sources, file), join(home, project, 'db.ts'));
    const result = await start(program('.bin/bun'), ['app.ts'], project);
    expect(result).toEqual({ stdout: output, stderr: '' });
  });
});

function installation(drizzleQueue: string, version: (name: string) => string) {
  return {
    name: 'projects',
    private: true,
    dependencies: {
      'drizzle-orm': version('drizzle-orm'),
      'drizzle-queue': `file:${drizzleQueue}`,
      postgres: version('postgres'),
    },
    devDependencies: {
      '@types/node': version('@types/node'),
      bun: '1.4.5',
      'drizzle-kit': version('drizzle-kit'),
      esbuild: '0.28.2',
      ...Object.fromEntries(compilers.map((name) => [name, version(name)])),
    },
    allowScripts: { bun: true, esbuild: true },
  };
}

function compilerOptions(module: string, moduleResolution: string) {
  return {
    compilerOptions: {
      strict: true,
      target: 'es2022',
      module,
      moduleResolution,
      types: ['node'],
      skipLibCheck: true,
      declaration: true,
      outDir: 'out',
    },
    files: ['app.ts'],
  };
}

const kitConfig = `
import { defineConfig } from 'drizzle-kit';
export default defineConfig({
  dialect: 'postgresql',
  schema: './schema.ts',
  dbCredentials: { url: process.env.DATABASE_URL ?? '' },
});
`;
