/** What the README says of drizzle-kit and row-level security, with drizzle-kit 0.31 against a real database. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { readmeCode } from '../support/readme.js';
import { readmeSql } from './readme.js';
import { useRoles } from './stage.js';

const root = join(import.meta.dirname, '../..');
const kit = join(dirname(createRequire(import.meta.url).resolve('drizzle-kit')), 'bin.cjs');
mkdirSync(join(root, '.tmp'), { recursive: true });
const app = mkdtempSync(join(root, '.tmp/kit-roles-'));
const schemas = `../../src/schema.js`;

const roles = useRoles();
afterAll(() => rmSync(app, { recursive: true, force: true }));
beforeEach(async () => {
  await roles.sql`drop policy if exists worker_works on jobs`;
  await roles.sql`alter table jobs disable row level security`;
});

it('push switches it off and drops the policies that the schema file does not declare', async () => {
  await roles.run(readmeSql('row-level security'));
  expect(await security()).toEqual({ on: true, policies: 5 });
  await run('push', `export { jobs } from '${schemas}';`);
  expect(await security()).toEqual({ on: false, policies: 0 });
});

it('generate writes a declared policy, which push creates without its condition', async () => {
  await run('generate', declared());
  const [migration = ''] = readdirSync(join(app, 'drizzle')).filter((name) => name.endsWith('.sql'));
  const sql = readFileSync(join(app, 'drizzle', migration), 'utf8');
  expect(sql).toContain('ALTER TABLE "jobs" ENABLE ROW LEVEL SECURITY');
  expect(sql).toMatch(/CREATE POLICY "worker_works" ON "jobs" AS PERMISSIVE FOR ALL TO "\w+" USING \(true\)/);

  await run('push', declared());
  const [policy] = await roles.sql`select qual from pg_policies where policyname = 'worker_works'`;
  expect(policy).toEqual({ qual: null });
});

/** The README's declaration, for the role of this run. */
function declared(): string {
  const block = readmeCode().fragments.find((fragment) => fragment.includes('pgPolicy('));
  if (!block) throw new Error('The README declares no policy.');
  const code = block
    .replace('drizzle-queue/schema', schemas)
    .replace("'worker'", `'${roles.name('worker')}'`);
  return `export { jobs } from '${schemas}';\n${code}`;
}

async function security() {
  const [found] = await roles.sql`
    select relrowsecurity as on, (select count(*)::int from pg_policy) as policies from pg_class where relname = 'jobs'`;
  return found;
}

async function run(command: 'push' | 'generate', schema: string): Promise<void> {
  const { host, port, database, user, pass } = roles.sql.options;
  const url = new URL(`postgres://${host[0]}:${port[0]}/${database}`);
  Object.assign(url, { username: user, password: pass });
  const config = { dialect: 'postgresql', schema: join(app, 'schema.ts'), out: join(app, 'drizzle') };
  writeFileSync(join(app, 'schema.ts'), schema);
  writeFileSync(
    join(app, 'drizzle.config.ts'),
    `export default ${JSON.stringify({ ...config, dbCredentials: { url: url.href } })};`,
  );
  const args = [
    kit,
    command,
    '--config',
    join(app, 'drizzle.config.ts'),
    ...(command === 'push' ? ['--force'] : []),
  ];
  await promisify(execFile)(process.execPath, args, { cwd: app, timeout: 60_000 });
}
