/**
 * The package as npm would publish it, and apps that install it. It is packed in a copy of the repository: a build in
 * the repository itself would pull dist/ from under other tests, and a dist/ that lies there may be old.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

export interface Packed {
  readonly tarball: string;
  /** Where it was built: the copy of the repository. */
  readonly source: string;
}

/** Runs `npm pack`, with the build before it, inside the folder. */
export async function pack(folder: string): Promise<Packed> {
  const source = join(folder, 'source');
  const { files }: { files: string[] } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const settings = readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name));
  for (const name of [
    'package.json',
    'build.mjs',
    'src',
    ...settings,
    ...files.filter((name) => name !== 'dist'),
  ])
    cpSync(join(root, name), join(source, name), { recursive: true });
  mkdirSync(join(source, 'test'));
  for (const name of ['node_modules', 'test/v1']) symlinkSync(join(root, name), join(source, name));
  await run('npm', ['pack', '--pack-destination', folder], { cwd: source });
  const [file] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  return { tarball: join(folder, file ?? 'no tarball'), source };
}

/** Drizzle's generations, and where this repository says which version of each it is tested on. */
export const generations = [
  { generation: 'drizzle-orm 0.45', manifest: join(root, 'package.json') },
  { generation: 'drizzle-orm 1.0', manifest: join(root, 'test/v1/package.json') },
];

/** The versions this repository is tested on, with those of a generation's manifest over them. */
export function versions(manifest: string): (name: string) => string {
  const named = [join(root, 'package.json'), manifest].map((file) => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(file, 'utf8'));
    return { ...dependencies, ...devDependencies };
  });
  const all: { [name: string]: string } = Object.assign({}, ...named);
  return (name) => {
    const version = all[name];
    if (version === undefined) throw new Error(`No manifest names ${name}.`);
    return version;
  };
}

/** Writes a file of the app, and the folders it is in. */
export function write(app: string, file: string, content: string | object): void {
  mkdirSync(dirname(join(app, file)), { recursive: true });
  writeFileSync(join(app, file), typeof content === 'string' ? content : JSON.stringify(content, null, 2));
}

export async function install(app: string): Promise<void> {
  await run('npm', ['install', '--no-audit', '--no-fund'], { cwd: app });
}

/** For the app's processes: vitest's own variables would change what they do. */
export function environment(url: string): NodeJS.ProcessEnv {
  return { ...process.env, DATABASE_URL: url, NODE_ENV: '' };
}
