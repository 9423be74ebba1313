/**
 * A new app, typed in from the README alone, against the package as npm would publish it: in an empty folder, on each
 * generation of Drizzle. It generates and runs its migration, places an order and works its job.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { readmeCode } from '../support/readme.js';
import { until } from '../support/until.js';
import { environment, generations, install, type Packed, pack, versions, write } from './packed.js';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'drizzle-queue-app-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let packed: Packed;
beforeAll(async () => {
  packed = await pack(folder);
}, 120_000);

test('its source maps stay inside the package', () => {
  const dist = join(packed.source, 'dist');
  const maps = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.map'),
  );
  expect(maps.length).toBeGreaterThan(10);
  for (const map of maps) {
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(dist, map), 'utf8'));
    expect(sourcesContent).toHaveLength(1);
    for (const source of sources) {
      expect(join(dirname(join(dist, map)), source).startsWith(join(packed.source, 'src'))).toBe(true);
    }
  }
});

describe.each(generations)('on $generation', ({ generation, manifest }) => {
  const app = join(folder, generation.replaceAll(' ', '-'));
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase({ empty: true });
    for (const [file, code] of readmeCode().files) write(app, file, code);
    write(app, 'types.ts', typedUses);
    write(app, 'package.json', appManifest(packed.tarball, versions(manifest)));
    write(app, 'tsconfig.json', appCompiler);
    await install(app);
  }, 240_000);
  afterAll(() => database?.drop());

  const npx = (...args: string[]) => run('npx', args, { cwd: app, env: environment(database.url) });

  test('it compiles, also when it emits declarations of its own', async () => {
    await npx('tsc', '-p', '.');
  });

  test('drizzle-kit generates a migration with our table and finds nothing to do the second time', async () => {
    await npx('drizzle-kit', 'generate');
    const again = await npx('drizzle-kit', 'generate');
    expect(again.stdout).toContain('No schema changes');
    await npx('drizzle-kit', 'migrate');
  });

  test('the order and its job are committed, and the worker runs it', async () => {
    const { stdout } = await npx('tsx', 'request.ts');
    expect(stdout).toContain('placed order 1');

    const worker = spawn(process.execPath, ['--import', 'tsx', 'worker.ts'], {
      cwd: app,
      env: environment(database.url),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    worker.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const exit = new Promise((resolve) => worker.once('exit', resolve));
    try {
      await until(() => said.includes('receipt for order 1, attempt 1'), { what: 'the receipt' });
    } finally {
      worker.kill('SIGTERM');
    }
    expect(await exit).toBe(0);
  });

  test('push finds nothing to change', async () => {
    const { stdout } = await npx('drizzle-kit', 'push');
    expect(stdout).toMatch(/no changes/i);
  });
});

/** What `npm install` of the quick start gives, with the versions this repository is tested on. */
function appManifest(drizzleQueue: string, version: (name: string) => string) {
  return {
    name: 'app',
    private: true,
    type: 'module',
    dependencies: {
      'drizzle-orm': version('drizzle-orm'),
      'drizzle-queue': `file:${drizzleQueue}`,
      postgres: version('postgres'),
    },
    devDependencies: {
      '@types/node': version('@types/node'),
      'drizzle-kit': version('drizzle-kit'),
      tsx: version('tsx'),
      typescript: version('typescript'),
    },
  };
}

/** Unused expectations are errors, so these fail when the tables' types have silently become `any`. */
const typedUses = `
import { eq } from 'drizzle-orm';
import { jobs } from './db/schema.js';
import { queue } from './jobs.js';

type Row = typeof jobs.$inferSelect;
export const attempts = (row: Row): number => row.attempts;
// @ts-expect-error there is no such state
export const state: Row['state'] = 'nope';
// @ts-expect-error there is no such column
export type Nope = Row['nope'];
export const ofKind = eq(queue.tables.jobs.kind, 'sendReceipt');
// @ts-expect-error there is no such kind
export const ofNoKind = eq(queue.tables.jobs.kind, 'sendReciept');
`;

/** Declarations of its own, because a type that cannot be named from outside fails only there. */
const appCompiler = {
  compilerOptions: {
    strict: true,
    target: 'es2022',
    module: 'nodenext',
    types: ['node'],
    skipLibCheck: true,
    declaration: true,
    outDir: 'out',
  },
  include: ['*.ts', 'db/*.ts'],
};
