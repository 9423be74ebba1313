/**
 * One copy of a folder in the temporary folder, readable by every user and shared by all runs of this user.
 * Runs that start at the same time never see half a copy: it is made under another name and then renamed.
 */
import { randomUUID } from 'node:crypto';
import { chmod, cp, lstat, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardFolder } from './guard.js';

/** Returns the path of the copy; `name` must change when the content does. */
export async function sharedCopy(source: string, name: string): Promise<string> {
  const target = join(tmpdir(), `drizzle-queue-postgres-${name}-${process.getuid?.() ?? 'user'}`);
  await refuseForeign(target);
  if (await isComplete(source, target)) return target;
  const partial = `${target}.${randomUUID()}`;
  const guard = guardFolder(partial);
  try {
    await cp(source, partial, { recursive: true, verbatimSymlinks: true });
    await makeReadable(partial);
    await putInPlace(source, partial, target);
  } finally {
    await guard.release();
  }
  return target;
}

/** Anybody may create names in the temporary folder, and programs are run from this one. */
async function refuseForeign(target: string): Promise<void> {
  const found = await lstat(target).catch(() => undefined);
  if (found && (!found.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid))) {
    throw new Error(`${target} belongs to somebody else, so Postgres is not started from it. Remove it.`);
  }
}

/** Systems that clean their temporary folder take single old files out of it. */
async function isComplete(source: string, target: string): Promise<boolean> {
  const there = new Set(await readdir(target, { recursive: true }).catch(() => []));
  return there.size > 0 && (await readdir(source, { recursive: true })).every((name) => there.has(name));
}

async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    await chmod(path, entry.isDirectory() || entry.parentPath === join(folder, 'bin') ? 0o755 : 0o644);
  }
}

async function putInPlace(source: string, partial: string, target: string): Promise<void> {
  try {
    await rename(partial, target);
  } catch (error) {
    // Another run was faster, or what lies there has lost files.
    if (await isComplete(source, target)) return;
    if (!(await lstat(target).catch(() => undefined))) throw error;
    const old = `${partial}.old`;
    await rename(target, old);
    await rename(partial, target);
    await rm(old, { recursive: true, force: true });
  }
}
