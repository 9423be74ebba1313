/**
 * What `npm run bench` starts: installs the bench's own packages on first use, builds the library, and hands over to
 * the bench on the Node that came with them.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const installed = join(here, 'node_modules/.package-lock.json');

if (
  !existsSync(installed) ||
  statSync(installed).mtimeMs < statSync(join(here, 'package-lock.json')).mtimeMs
) {
  const npm = process.env.npm_execpath;
  if (!npm) throw new Error('Start the bench with `npm run bench`, or run `npm ci` in test/bench first.');
  run(process.execPath, [npm, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], here);
}
run(process.execPath, ['build.mjs'], root);

const node = join(here, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node');
const bench = spawn(
  node,
  ['--import', import.meta.resolve('tsx'), join(here, 'main.ts'), ...process.argv.slice(2)],
  {
    // The channel tells the bench when this process is gone: nothing of it stays behind then.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  },
);
bench.once('exit', (code) => {
  process.exitCode = code ?? 1;
});

/** What fails has said why. */
function run(command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
