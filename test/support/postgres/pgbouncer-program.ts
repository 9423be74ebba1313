/**
 * Finds the PgBouncer program: an installed one, or where Debian's packages can be had, the program and its libraries
 * out of these, without root and without installing anything.
 */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, chmod, cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { downloaded } from '../downloads.js';
import { isRoot } from './server-user.js';
import { sharedCopy } from './shared-copy.js';

const run = promisify(execFile);

/** PgBouncer, and those of its libraries that a system without it may not have. */
const packages = ['pgbouncer', 'libevent-2.1-7', 'libc-ares2'];

export type Program = {
  readonly path: string;
  /** What it needs in its environment. */
  readonly environment: NodeJS.ProcessEnv;
};

/** @throws Error that says what to install. */
export async function findPgBouncer(): Promise<Program> {
  const installed = await findInstalled();
  if (installed) return { path: installed, environment: {} };
  const folder = await downloaded('pgbouncer', downloadFromDebian).catch((cause: Error) => {
    throw new Error(
      'No PgBouncer for the tests: install it (apt-get install pgbouncer, brew install pgbouncer), so that it is on PATH. ' +
        `On Debian it would be downloaded, which failed: ${cause.message.trim()}`,
      { cause },
    );
  });
  // The user that root becomes may not see into root's cache.
  const readable = isRoot ? await sharedCopy(folder, 'pgbouncer') : folder;
  const libraries = [join(readable, 'lib'), process.env.LD_LIBRARY_PATH].filter(Boolean);
  return {
    path: join(readable, 'bin', 'pgbouncer'),
    environment: { LD_LIBRARY_PATH: libraries.join(delimiter) },
  };
}

async function findInstalled(): Promise<string | undefined> {
  // Debian's place for it is on the PATH of root only.
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']) {
    const path = join(folder, 'pgbouncer');
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}

async function downloadFromDebian(folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'drizzle-queue-pgbouncer-'));
  try {
    await run('apt-get', ['download', ...packages], { cwd: work });
    for (const archive of (await readdir(work)).filter((name) => name.endsWith('.deb'))) {
      await run('dpkg', ['-x', archive, 'root'], { cwd: work });
    }
    const [bin, lib] = [join(folder, 'bin'), join(folder, 'lib')];
    await mkdir(bin);
    await cp(join(work, 'root/usr/sbin/pgbouncer'), join(bin, 'pgbouncer'));
    const [architecture] = await readdir(join(work, 'root/usr/lib'));
    await cp(join(work, 'root/usr/lib', architecture ?? ''), lib, {
      recursive: true,
      verbatimSymlinks: true,
    });
    await chmod(join(bin, 'pgbouncer'), 0o755);
    await run(join(bin, 'pgbouncer'), ['--version'], { env: { LD_LIBRARY_PATH: lib } });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
