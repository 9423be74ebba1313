/**
 * Folders with downloaded programs, kept between runs in the user's cache folder and never in the repository.
 * Runs that start at the same time never see half a download: it is made under another name and then renamed.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { guardFolder } from './postgres/guard.js';

/** Returns the folder, which `download` fills if it is not there yet; `name` must change when the content does. */
export async function downloaded(name: string, download: (folder: string) => Promise<void>): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'drizzle-queue-tests');
  const target = join(cache, name);
  if (existsSync(target)) return target;
  await mkdir(cache, { recursive: true });
  const partial = await mkdtemp(`${target}.`);
  const guard = guardFolder(partial);
  try {
    await download(partial);
    await rename(partial, target);
  } catch (error) {
    // Another run was faster.
    if (!existsSync(target)) throw error;
  } finally {
    await guard.release();
  }
  return target;
}
