/** The example of tests, run by a vitest of its own as an app does, on an empty Postgres and on PGlite. */
import { expect, it } from 'vitest';
import { createDatabase } from '../support/database.js';
import { runExample } from './run-example.js';

it('its tests pass on both', async () => {
  const database = await createDatabase({ empty: true });
  try {
    const { exitCode, stdout, stderr } = await runExample(
      ['node_modules/vitest/vitest.mjs', 'run', '--root', 'examples/testing', '--reporter=json'],
      { DATABASE_URL: database.url },
    );
    expect(stderr + stdout).toContain('"success":true');
    const report: { numPassedTests: number; testResults: { name: string }[] } = JSON.parse(stdout);
    expect({ exitCode, passed: report.numPassedTests }).toEqual({ exitCode: 0, passed: 10 });
    expect(report.testResults.map(({ name }) => name.split('/').at(-1)).sort()).toEqual([
      'pglite.test.ts',
      'postgres.test.ts',
    ]);
    await database.expectNoConnections();
  } finally {
    await database.drop();
  }
}, 120_000);
