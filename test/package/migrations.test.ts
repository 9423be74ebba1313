/**
 * The installed `drizzle-queue` command in an app's life: with drizzle-kit 0.31 from npm, and then with 1.0 in the same
 * folder and on the same database.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addJob, inspect } from '../migrations/live.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { environment, generations, install, pack, versions, write } from './packed.js';

const run = promisify(execFile);

describe('an app that updates Drizzle', () => {
  let folder: string;
  let app: string;
  let tarball: string;
  let database: TestDatabase;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'drizzle-queue-update-'));
    app = join(folder, 'app');
    database = await createDatabase({ empty: true });
    ({ tarball } = await pack(folder));
    write(app, 'schema.ts', "export * from 'drizzle-queue/schema';\n");
    write(app, 'drizzle.config.ts', config);
  }, 120_000);
  afterAll(async () => {
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const npx = async (...args: string[]) =>
    (await run('npx', ['--no-install', ...args], { cwd: app, env: environment(database.url) })).stdout;
  /** What `npm install` of a generation gives, with the versions this repository is tested on. */
  const installGeneration = async (wanted: string) => {
    const generation = generations.find((each) => each.generation === wanted);
    if (!generation) throw new Error(`There is no generation ${wanted}.`);
    const version = versions(generation.manifest);
    write(app, 'package.json', {
      name: 'app',
      private: true,
      type: 'module',
      dependencies: {
        'drizzle-orm': version('drizzle-orm'),
        'drizzle-queue': `file:${tarball}`,
        postgres: version('postgres'),
      },
      devDependencies: { 'drizzle-kit': version('drizzle-kit') },
    });
    await install(app);
  };

  test('gets the storage parameters by a migration of its own', async () => {
    await installGeneration('drizzle-orm 0.45');
    await npx('drizzle-kit', 'generate');
    expect(await npx('drizzle-queue', 'migration')).toContain('Wrote drizzle/0001_drizzle_queue.sql');
    expect(await npx('drizzle-queue', 'migration')).toContain('Nothing to do');
    expect(await npx('drizzle-kit', 'generate')).toContain('No schema changes');
    await npx('drizzle-kit', 'migrate');
    expect(await inspect(database.url)).toMatchObject({
      storage: { 'public.jobs': ['fillfactor=70', 'autovacuum_vacuum_scale_factor=0.01'] },
    });
  }, 240_000);

  test('has nothing to change after the update, and loses nothing', async () => {
    await addJob(database.url, 'public.jobs');
    const before = await inspect(database.url);

    await installGeneration('drizzle-orm 1.0');
    await npx('drizzle-kit', 'up');
    expect(await npx('drizzle-kit', 'generate')).toContain('No schema changes');
    expect(await npx('drizzle-queue', 'migration')).toMatch(
      /^Nothing to do: drizzle\/\d{14}_drizzle_queue\/migration\.sql has it\.$/m,
    );
    await npx('drizzle-kit', 'migrate');
    expect(await npx('drizzle-kit', 'push')).toContain('No changes detected');
    expect(await inspect(database.url)).toEqual(before);
  }, 240_000);
});

const config = `
import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './schema.ts',
  dbCredentials: { url: process.env['DATABASE_URL'] ?? '' },
});
`;
