/**
 * `npm run test:faults`: the scenarios of test/faults, and a line for each at the end. `-- --long` is the form with
 * thousands of jobs and 90 s without Postgres; all else goes to vitest: `-- test/faults/kills.test.ts`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const rest = process.argv.slice(2);
const isLong = rest.includes('--long');
const given = rest.filter((argument) => argument !== '--long');
const reporters = ['--reporter=./test/faults/reporter.ts'];
// Those of the caller take the place of vitest's own, not of ours.
if (!given.some((argument) => argument.startsWith('--reporter'))) reporters.push('--reporter=default');

const child = spawn('npx', ['vitest', 'run', '--project', 'faults', ...reporters, ...given], {
  stdio: 'inherit',
  env: { ...process.env, ...(isLong && { FAULTS: 'long' }) },
  shell: process.platform === 'win32',
});
const [code] = await once(child, 'exit');
process.exitCode = typeof code === 'number' ? code : 1;
