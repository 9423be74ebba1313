/** `drizzle-queue` itself: its help and version, `sql`, and what it says to wrong options. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { type App, useApps } from './app.js';

const makeApp = useApps();
let app: App;
beforeAll(() => {
  app = makeApp('v0');
});
const storage = 'set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);';

describe('drizzle-queue', () => {
  it('lists its commands', async () => {
    const { exitCode, stdout } = await app.cli('--help');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^ {2}migration \[options\] {2}\S/m);
    expect(stdout).toMatch(/^ {2}sql \[options\] {8}\S/m);
  });

  it('has the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(await app.cli('--version')).toMatchObject({ exitCode: 0, stdout: `${version}\n` });
  });

  it.each<[wrong: string, args: string[], said: string]>([
    ['a command', ['migrate'], "error: unknown command 'migrate'"],
    ['an option', ['sql', '--shema', 'x'], "error: unknown option '--shema'\n(Did you mean --schema?)"],
    ['a value left out', ['migration', '--config'], "error: option '--config <file>' argument missing"],
    ['an argument', ['sql', 'work'], 'error: too many arguments'],
    ['an empty schema', ['sql', '--schema', ''], "error: option '--schema <name>' argument '' is invalid."],
    ['a line break in a schema', ['sql', '--schema', 'a\ndrop'], "error: option '--schema <name>' argument"],
    ['a path as a name', ['migration', '--name', '../x'], "error: option '--name <name>' argument '../x'"],
  ])('refuses %s with exit code 1 and a sentence on stderr', async (_wrong, args, said) => {
    const { exitCode, stdout, stderr } = await app.cli(...args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain(said);
  });
});

describe('drizzle-queue sql', () => {
  it('prints the SQL and nothing else', async () => {
    expect(await app.cli('sql')).toEqual({
      exitCode: 0,
      stdout: `-- drizzle-queue: storage parameters of "public"."jobs", version 1\nalter table "public"."jobs" ${storage}\n`,
      stderr: '',
    });
  });

  it('prints the trigger as well, one statement after another', async () => {
    const { exitCode, stdout } = await app.cli('sql', '--trigger', '--schema', "it's");
    expect(exitCode).toBe(0);
    const [, ...statements] = stdout.split('--> statement-breakpoint\n');
    expect(statements).toEqual([
      expect.stringMatching(
        /^-- drizzle-queue: wake-up trigger of "it's"\."jobs", version 1\ncreate or replace function "it's"\."jobs_wake"\(\)/,
      ),
      `drop trigger if exists "jobs_wake" on "it's"."jobs";\n`,
      `create trigger "jobs_wake" after insert on "it's"."jobs" referencing new table as inserted\nfor each statement execute function "it's"."jobs_wake"();\n`,
    ]);
  });

  it('quotes the name of a schema', async () => {
    const { stdout } = await app.cli('sql', '--schema', 'My "own" jobs');
    expect(stdout).toContain(`alter table "My ""own"" jobs"."jobs" ${storage}\n`);
  });
});
