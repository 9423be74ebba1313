/**
 * The same tests on both generations of Drizzle: project `v0` has the root's drizzle-orm 0.45, project `v1` takes every
 * import of drizzle-orm from test/v1. Project `package` tests the packed tarball in folders of its own; projects
 * `pgbouncer-v0` and `pgbouncer-v1` need a PgBouncer.
 * `vitest --project v0` runs one of them.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import type { Generation } from './test/support/provided.js';

const drizzleV1 = fileURLToPath(new URL('./test/v1/node_modules/drizzle-orm', import.meta.url));

function project(
  name: string,
  generation: Generation,
  include: string[],
  exclude: string[] = [],
): TestProjectInlineConfiguration {
  return {
    resolve: { alias: generation === 'v1' ? [{ find: /^drizzle-orm(?=\/|$)/, replacement: drizzleV1 }] : [] },
    test: {
      name,
      include,
      exclude: ['**/node_modules/**', 'test/v1/**', 'test/bench/**', ...exclude],
      setupFiles: ['test/support/generation.ts'],
      provide: { generation },
      pool: 'forks',
      testTimeout: 30_000,
      hookTimeout: 60_000,
    },
  };
}

export default defineConfig({
  test: {
    // Of the root, not of the projects: one server for both.
    globalSetup: ['test/support/global-setup.ts'],
    maxWorkers: 2,
    projects: [
      project('v0', 'v0', ['test/**/*.test.ts'], ['test/package/**', 'test/pgbouncer/**', 'test/faults/**']),
      project('v1', 'v1', ['test/drivers/**/*.test.ts']),
      project('package', 'v0', ['test/package/**/*.test.ts']),
      project('pgbouncer-v0', 'v0', ['test/pgbouncer/**/*.test.ts']),
      project('faults', 'v0', ['test/faults/**/*.test.ts']),
      project('pgbouncer-v1', 'v1', ['test/pgbouncer/**/*.test.ts']),
    ],
  },
});
