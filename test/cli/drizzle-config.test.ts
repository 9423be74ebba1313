/** The config of drizzle-kit as `drizzle-queue migration` finds and reads it: seen in the folder where it looks. */
import { describe, expect, it } from 'vitest';
import { config, useApps } from './app.js';

const makeApp = useApps();
const looksIn = (out: string) => `error: No migration in ${out} creates "public"."jobs"`;

describe('the config', () => {
  it.each<[kind: string, file: string, text: string]>([
    ['TypeScript', 'drizzle.config.ts', config("out: './here' satisfies string")],
    ['JavaScript', 'drizzle.config.js', config("out: './here'")],
    ['JSON', 'drizzle.config.json', '{ "dialect": "postgresql", "schema": "./schema.ts", "out": "./here" }'],
  ])('is found without being named: %s', async (_kind, file, text) => {
    const app = makeApp('v0');
    app.remove('drizzle.config.ts');
    app.write(file, text);
    expect((await app.cli('migration')).stderr).toContain(looksIn('here'));
  });

  it('can be named, and its `out` counts from the working directory', async () => {
    const app = makeApp('v0');
    app.write('config/mine.ts', config("out: './here'"));
    expect((await app.cli('migration', '--config', 'config/mine.ts')).stderr).toContain(looksIn('here'));
  });

  it('has ./drizzle as its default folder, as in drizzle-kit', async () => {
    expect((await makeApp('v0').cli('migration')).stderr).toContain(looksIn('drizzle'));
  });

  it('may read what .env sets, and import through the paths of a tsconfig', async () => {
    const app = makeApp('v0');
    app.write('.env', 'WHERE=here\n');
    app.write('settings/out.ts', "export const out: string = process.env['WHERE'] ?? 'nowhere';");
    app.write('tsconfig.json', '{ "compilerOptions": { "paths": { "#settings/*": ["./settings/*"] } } }');
    app.write('drizzle.config.ts', `import { out } from '#settings/out';\n${config('out')}`);
    expect((await app.cli('migration')).stderr).toContain(looksIn('here'));
  });

  it.each<[what: string, text: string, said: string]>([
    ['throws', "throw new Error('no DATABASE_URL')", 'drizzle.config.ts cannot be loaded: no DATABASE_URL'],
    [
      'is of another dialect',
      "export default { dialect: 'mysql' }",
      'drizzle.config.ts has the dialect "mysql"; drizzle-queue needs "postgresql".',
    ],
    ['exports nothing', 'export {}', 'drizzle.config.ts has the dialect undefined'],
    [
      'has a wrong folder',
      "export default { dialect: 'postgresql', out: 1 }",
      '`out` of drizzle.config.ts is not a text.',
    ],
  ])('is refused when it %s', async (_what, text, said) => {
    const app = makeApp('v0');
    app.write('drizzle.config.ts', text);
    const { exitCode, stderr } = await app.cli('migration');
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`error: ${said}`);
  });

  it('is asked for when there is none', async () => {
    const app = makeApp('v0');
    app.remove('drizzle.config.ts');
    const { exitCode, stderr } = await app.cli('migration');
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      'error: There is no drizzle.config.ts, drizzle.config.js, drizzle.config.json in ',
    );
    expect(await app.cli('migration', '--config', 'mine.ts')).toMatchObject({
      exitCode: 1,
      stderr: 'error: There is no file mine.ts.\n',
    });
  });
});
