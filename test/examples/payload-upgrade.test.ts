/** The example prints what its README says. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('payload-upgrade prints what its README says', async () => {
  if (!existsSync(`${root}/dist/worker.js`)) throw new Error('Build first: npm run build.');
  const readme = await readFile(`${root}/examples/payload-upgrade/README.md`, 'utf8');
  const said = /```text\n([^]*?)```/.exec(readme)?.[1];
  const args = ['--import', 'tsx', 'examples/payload-upgrade/main.ts'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: root });
  expect(stderr).toBe('');
  expect(stdout).toBe(said);
}, 60_000);
