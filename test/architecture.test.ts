/**
 * The shape of src/: imports only go down, files are small and say what they are for, and what apps see is documented.
 * The layers are kept by biome's rules; here is shown that these rules fire, and once more without them that they hold.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Each layer with those that it may import from besides itself. */
const below = {
  words: [],
  database: ['words'],
  sql: ['words', 'database'],
  check: ['words', 'database', 'sql'],
  registry: ['words', 'database', 'sql'],
  queue: ['words', 'database', 'sql', 'registry'],
  worker: ['words', 'database', 'sql', 'check', 'registry'],
  testing: ['words', 'database', 'sql', 'registry', 'queue', 'worker'],
  cli: ['words', 'database', 'sql', 'check'],
} as const satisfies Record<string, readonly string[]>;
const layers = Object.keys(below) as (keyof typeof below)[];

/** What a file of a layer might import: something of another layer, or an entry point. */
const targets = [
  ...layers.map((layer) => `${layer}/it.js`),
  'index.js',
  'schema.js',
  'worker.js',
  'testing.js',
];
const mayImport = (layer: keyof typeof below, target: string): boolean =>
  [layer, ...below[layer]].some((other) => target.startsWith(`${other}/`));

/** The sources, by their path below src/. */
const sources = new Map<string, string>();

beforeAll(async () => {
  for (const entry of await readdir(join(root, 'src'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(join(root, 'src').length + 1).replaceAll('\\', '/');
    sources.set(name, await readFile(path, 'utf8'));
  }
});

describe('the rules for imports', () => {
  const forms: readonly [form: string, (target: string) => string][] = [
    ['a value', (target) => `import { it } from '../${target}';\nexport const other = it;\n`],
    ['a type', (target) => `import type { It } from '../${target}';\nexport type Other = It;\n`],
  ];

  it.each(forms)('report every upward import of %s, and no other', async (_form, code) => {
    const files = layers.flatMap((layer) =>
      targets.map((target, n): [string, string] => [`src/${layer}/imports-${n}.ts`, code(target)]),
    );
    const expected = layers.flatMap((layer) =>
      targets.flatMap((target, n) => (mayImport(layer, target) ? [] : [`src/${layer}/imports-${n}.ts`])),
    );
    expect(await reported('lint/style/noRestrictedImports', new Map(files))).toEqual(expected.sort());
  });

  it('report files that import each other', async () => {
    const files = new Map([
      ['src/words/one.ts', "import { two } from './two.js';\nexport const one = (): number => two();\n"],
      ['src/words/two.ts', "import { one } from './one.js';\nexport const two = (): number => one();\n"],
      ['src/words/three.ts', "import { one } from './one.js';\nexport const three = one;\n"],
    ]);
    expect(await reported('lint/suspicious/noImportCycles', files)).toEqual([
      'src/words/one.ts',
      'src/words/two.ts',
    ]);
  });
});

describe('the sources', () => {
  it('are all in a layer, or entry points', () => {
    const odd = [...sources.keys()].filter(
      (name) => !/^[a-z]+\.ts$/.test(name) && !layers.some((layer) => name.startsWith(`${layer}/`)),
    );
    expect(odd).toEqual([]);
    expect(sources.size).toBeGreaterThan(40);
  });

  it('import only from their own layer and those below, also where they only pass on', () => {
    const upward = [...sources].flatMap(([name, source]) => {
      const layer = layers.find((each) => name.startsWith(`${each}/`));
      if (!layer) return [];
      return relativeImports(source)
        .map((path) => posix.join(posix.dirname(name), path))
        .filter((target) => !mayImport(layer, target))
        .map((target) => `${name} -> ${target}`);
    });
    expect(upward).toEqual([]);
  });

  it('begin with a comment that says what the file is for', () => {
    expect(namesOf((source) => !/^(?:#!.*\n)?\/\*\*(?:(?!\*\/)[\s\S])*\w/.test(source))).toEqual([]);
  });

  it('are of 250 lines at most', () => {
    expect(namesOf((source) => source.split('\n').length > 251)).toEqual([]);
  });
});

describe('what the entry points export', () => {
  it.each(['index.ts', 'schema.ts', 'worker.ts', 'testing.ts'])(
    'is documented where it is defined: %s',
    (entry) => {
      const names = exportsOf(sources.get(entry) ?? '');
      expect(names.length).toBeGreaterThan(2);
      const undocumented = names.filter(({ name, file }) => !isDocumented(sources.get(file) ?? '', name));
      expect(undocumented).toEqual([]);
    },
  );

  it('has a comment on every option that may be left out', () => {
    const bare = [...sources].flatMap(([name, source]) =>
      [...source.matchAll(/^export interface \w*Options\b[\s\S]*?^}/gm)].flatMap(([block]) =>
        [...block.matchAll(/^(.*)\n {2}readonly (\w+)\?:/gm)]
          .filter(([, lineBefore = '']) => !lineBefore.trimEnd().endsWith('*/'))
          .map(([, , option]) => `${name}: ${option}`),
      ),
    );
    expect(bare).toEqual([]);
  });
});

function namesOf(condition: (source: string) => boolean): string[] {
  return [...sources].filter(([, source]) => condition(source)).map(([name]) => name);
}

/** Of `import … from`, `export … from` and `import(…)`. */
function relativeImports(source: string): string[] {
  return [...source.matchAll(/(?:\bfrom|\bimport\()\s*'(\.[^']+)'/g)].map(([, path = '']) => path);
}

function exportsOf(entry: string): { name: string; file: string }[] {
  return [...entry.matchAll(/export (?:type )?\{([^}]+)\} from '\.\/([^']+)\.js'/g)].flatMap(
    ([, list = '', path]) =>
      list
        .split(',')
        .map((name) => name.trim().replace(/^type /, ''))
        .filter((name) => name !== '')
        .map((name) => ({ name, file: `${path}.ts` })),
  );
}

/** Whether the first declaration of this name stands below a doc comment; line comments may come between. */
function isDocumented(source: string, name: string): boolean {
  const lines = source.split('\n');
  const declaration = new RegExp(`^export (?:async )?(?:function|const|class|interface|type) ${name}\\b`);
  let line = lines.findIndex((text) => declaration.test(text)) - 1;
  while (lines[line]?.startsWith('//')) line--;
  return lines[line]?.trimEnd().endsWith('*/') === true;
}

/** The files in which biome, with our rules, reports this one; sorted. */
async function reported(rule: string, files: ReadonlyMap<string, string>): Promise<string[]> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'drizzle-queue-rules-')));
  try {
    const config: { vcs?: unknown } = JSON.parse(await readFile(join(root, 'biome.json'), 'utf8'));
    delete config.vcs; // there is no repository around the folder
    await writeFile(join(folder, 'biome.json'), JSON.stringify(config));
    for (const [file, text] of files) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), text);
    }
    const found = await lint(folder);
    return [
      ...new Set(
        found
          .filter(({ category }) => category === rule)
          .map(({ file }) => relative(folder, file).replaceAll('\\', '/')),
      ),
    ].sort();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function lint(folder: string): Promise<{ category: string; file: string }[]> {
  const biome = join(createRequire(import.meta.url).resolve('@biomejs/biome/package.json'), '../bin/biome');
  const args = [biome, 'lint', '--reporter=github', '--max-diagnostics=none', '--colors=off', 'src'];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 1e8 }, (_error, output, noise) => {
      const found = [...output.matchAll(/^::\w+ title=([^,]+),file=([^,]+),/gm)].map(
        ([, category = '', file = '']) => ({ category, file }),
      );
      // It ends with 1 when it has found something, as it must in each of these trees.
      if (found.length > 0) resolve(found);
      else reject(new Error(`biome reported nothing: ${output}${noise}`));
    });
  });
}
