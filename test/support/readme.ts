/** The code blocks of the README: those that begin with a file's name are files of one app, the others are fragments of it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ReadmeCode {
  /** Path in the app → text. */
  readonly files: ReadonlyMap<string, string>;
  readonly fragments: readonly string[];
}

export function readmeCode(): ReadmeCode {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  const files = new Map<string, string>();
  const fragments: string[] = [];
  for (const [, code = ''] of readme.matchAll(/^```ts\n(.*?)^```$/gms)) {
    const file = /^\/\/ (\S+\.ts)\n/.exec(code)?.[1];
    if (file) files.set(file, code);
    else fragments.push(code);
  }
  return { files, fragments };
}
