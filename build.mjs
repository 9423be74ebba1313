/**
 * Builds dist/: one JavaScript, the declarations of the tables twice, and all declarations once more for CommonJS.
 *
 * A declaration of a Drizzle table that was emitted against one generation of drizzle-orm means nothing in the other,
 * so `tables.d.ts` becomes a switch between `tables.v0.d.ts` and `tables.v1.d.ts`. Nothing else names a Drizzle type.
 *
 * `require()` is given the same ES modules, through a file of one line. TypeScript in a CommonJS project reads Drizzle's
 * `.d.cts`, whose classes are others than those of its `.d.ts`, so ours come as both.
 *
 * `node build.mjs FOLDER` builds into another folder.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const root = import.meta.dirname;
const folder = process.argv[2];
// Beside dist/, not deeper, so that the source maps lead out of dist/ into the package and not into somebody's src/.
const made = folder ?? mkdtempSync(join(root, '.dist-'));
const v1 = mkdtempSync(join(tmpdir(), 'drizzle-queue-'));
// Also when a compiler finds errors.
process.on('exit', () => {
  for (const temporary of folder === undefined ? [v1, made] : [v1])
    rmSync(temporary, { recursive: true, force: true });
});
const tables = (suffix) => join(made, 'database', `tables${suffix}.d.ts`);

const compiler = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc');
const tsc = (...args) => execFileSync(process.execPath, [compiler, ...args], { cwd: root, stdio: 'inherit' });

tsc('-p', 'tsconfig.build.json', '--outDir', made);
chmodSync(made, 0o755);
renameSync(tables(''), tables('.v0'));
// biome-ignore format: one option with its value after the other
tsc('-p', 'tsconfig.v1.json', '--noEmit', 'false', '--emitDeclarationOnly', '--declaration', '--rootDir', 'src', '--outDir', v1);
copyFileSync(join(v1, 'database', 'tables.d.ts'), tables('.v1'));

writeFileSync(
  tables(''),
  `import type { RowTypes } from '../words/row-types.js';
import type * as v0 from './tables.v0.js';
import type * as v1 from './tables.v1.js';

/** Which generation of drizzle-orm the project has: only 1.0 knows this name. */
type IsV1 = 'PgAsyncDatabase' extends keyof typeof import('drizzle-orm/pg-core') ? true : false;

/** The jobs table with rows typed by a registry. */
export type JobsTable<R extends RowTypes = RowTypes> = IsV1 extends true ? v1.JobsTable<R> : v0.JobsTable<R>;
/** The table behind \`onDuplicate: 'throttle'\`: a row for each kind and key that has its job of a period. */
export type JobThrottleTable = IsV1 extends true ? v1.JobThrottleTable : v0.JobThrottleTable;
/** The table behind \`queue.pause\`: a row for each name of what is paused. */
export type JobLimitsTable = IsV1 extends true ? v1.JobLimitsTable : v0.JobLimitsTable;
/** The tables of the library as an app has them, typed by a registry. All but \`jobs\` are for one feature each. */
export type QueueTables<R extends RowTypes = RowTypes> = IsV1 extends true ? v1.QueueTables<R> : v0.QueueTables<R>;

export declare const queueTables: IsV1 extends true ? typeof v1.queueTables : typeof v0.queueTables;
export declare const jobs: IsV1 extends true ? typeof v1.jobs : typeof v0.jobs;
export declare const jobThrottle: IsV1 extends true ? typeof v1.jobThrottle : typeof v0.jobThrottle;
export declare const jobLimits: IsV1 extends true ? typeof v1.jobLimits : typeof v0.jobLimits;
`,
);

for (const file of readdirSync(made, { recursive: true })) {
  if (!file.endsWith('.d.ts')) continue;
  const declarations = readFileSync(join(made, file), 'utf8');
  const relative = /(['"])(\.\.?\/[^'"\n]*)\.js\1/g;
  writeFileSync(join(made, file.replace(/ts$/, 'cts')), declarations.replace(relative, '$1$2.cjs$1'));
}

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
for (const entry of Object.values(exports)) {
  if (typeof entry === 'string') continue;
  const esm = basename(entry.default);
  writeFileSync(join(made, basename(entry.require.default)), `module.exports = require('./${esm}');\n`);
}

// Moved there when complete: what runs from dist/ at this moment misses it for an instant at most.
if (folder === undefined) {
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  renameSync(made, join(root, 'dist'));
}
