/** The examples print what their folders say, each in a process of its own, as a reader would run it. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const folder = join(import.meta.dirname, '../examples');
const names = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'expected.txt')));

it.each(names)('%s', async (name) => {
  const run = promisify(execFile)(process.execPath, ['--import', 'tsx', join(folder, name, 'main.ts')], {
    timeout: 25_000,
  });
  const { stdout, stderr } = await run;
  expect(stderr).toBe('');
  expect(stdout).toBe(readFileSync(join(folder, name, 'expected.txt'), 'utf8'));
});
