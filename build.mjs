/**
 * Builds dist/: one JavaScript, and the declarations of the tables twice.
 *
 * A declaration of a Drizzle table that was emitted against one generation of drizzle-orm means nothing in the other,
 * so `tables.d.ts` becomes a switch between `tables.v0.d.ts` and `tables.v1.d.ts`. Nothing else names a Drizzle type.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = import.meta.dirname;
// Beside dist/, not deeper, so that the source maps lead out of dist/ into the package and not into somebody's src/.
const made = mkdtempSync(join(root, '.dist-'));
const v1 = mkdtempSync(join(tmpdir(), 'drizzle-queue-'));
chmodSync(made, 0o755);
const tables = (suffix) => join(made, 'database', `tables${suffix}.d.ts`);

const compiler = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc');
const tsc = (...args) => execFileSync(process.execPath, [compiler, ...args], { cwd: root, stdio: 'inherit' });

tsc('-p', 'tsconfig.build.json', '--outDir', made);
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
/** Every table of the library, typed by a registry. */
export type QueueTables<R extends RowTypes = RowTypes> = IsV1 extends true ? v1.QueueTables<R> : v0.QueueTables<R>;

export declare const queueTables: IsV1 extends true ? typeof v1.queueTables : typeof v0.queueTables;
export declare const jobs: IsV1 extends true ? typeof v1.jobs : typeof v0.jobs;
`,
);

// Moved there when complete: what runs from dist/ at this moment misses it for an instant at most.
rmSync(join(root, 'dist'), { recursive: true, force: true });
renameSync(made, join(root, 'dist'));
rmSync(v1, { recursive: true, force: true });
