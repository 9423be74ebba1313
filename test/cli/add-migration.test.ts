/** `drizzle-queue migration` with a real drizzle-kit of both generations: when it adds a migration, and when none. */
import { describe, expect, it, vi } from 'vitest';
import { type App, config, kits, schemas, useApps } from './app.js';

// Each test starts several processes that compile TypeScript.
vi.setConfig({ testTimeout: 120_000 });

const makeApp = useApps();
const sqlFor = (schema: string, version = 1) =>
  `-- drizzle-queue: storage parameters of "${schema}"."jobs", version ${version}
alter table "${schema}"."jobs" set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);
`;

/** Generates, and fails where drizzle-kit has something to ask. */
async function generate(app: App, ...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await app.kit('generate', ...args);
  if (exitCode !== 0) throw new Error(stdout + stderr);
  return stdout;
}

/** The texts of the migrations, in order. */
function migrations(app: App): string[] {
  return Object.entries(app.files('drizzle'))
    .filter(([file]) => file.endsWith('.sql'))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, text]) => text);
}

describe.each(kits)('with $kit', ({ generation }) => {
  const place =
    generation === 'v0'
      ? /^drizzle\/0001_drizzle_queue\.sql$/
      : /^drizzle\/\d{14}_drizzle_queue\/migration\.sql$/;

  it('adds a migration of drizzle-kit that holds the SQL, once', async () => {
    const app = makeApp(generation);
    await generate(app);
    const before = migrations(app);

    const { exitCode, stdout } = await app.cli('migration');
    expect(exitCode).toBe(0);
    const file = /^Wrote (\S+):$/m.exec(stdout)?.[1] ?? '';
    expect(file).toMatch(place);
    expect(app.read(file)).toBe(sqlFor('public'));
    const after = app.files('drizzle');
    expect(migrations(app)).toEqual([...before, sqlFor('public')]);
    expect(await generate(app)).toContain('No schema changes');

    expect(await app.cli('migration')).toEqual({
      exitCode: 0,
      stdout: `Nothing to do: ${file} has it.\n`,
      stderr: '',
    });
    expect(app.files('drizzle')).toEqual(after);
  });

  it('adds the trigger when it is asked for, beside the SQL that is there, once', async () => {
    const app = makeApp(generation);
    await generate(app);
    expect(await app.cli('migration')).toMatchObject({ exitCode: 0 });
    const before = migrations(app);

    expect(await app.cli('migration', '--trigger')).toMatchObject({ exitCode: 0 });
    const trigger = migrations(app).at(-1) ?? '';
    expect(migrations(app)).toEqual([...before, trigger]);
    expect(trigger).toMatch(/^-- drizzle-queue: wake-up trigger of "public"\."jobs", version 1\n/);
    expect(trigger).not.toContain('storage parameters');
    expect((await app.cli('migration', '--trigger')).stdout).toMatch(
      /^Nothing to do: \S+ and \S+ have it\.\n$/,
    );
    expect((await app.cli('migration')).stdout).toMatch(/^Nothing to do: \S+ has it\.\n$/);

    const both = makeApp(generation);
    await generate(both);
    expect(await both.cli('migration', '--trigger')).toMatchObject({ exitCode: 0 });
    expect(migrations(both).at(-1)).toBe(`${sqlFor('public')}--> statement-breakpoint\n${trigger}`);
    expect(await generate(both)).toContain('No schema changes');
  });

  it('takes a config and a name', async () => {
    const app = makeApp(generation);
    app.remove('drizzle.config.ts');
    app.write('config/mine.ts', config("out: './drizzle', migrations: { prefix: 'timestamp' }"));
    await generate(app, '--config', 'config/mine.ts');
    const { stdout } = await app.cli('migration', '--config', 'config/mine.ts', '--name', 'storage');
    expect(stdout).toMatch(/^Wrote drizzle\/\d{14}_storage/);
    expect(migrations(app).at(-1)).toBe(sqlFor('public'));
  });

  it('asks for a generate first while no migration makes the table', async () => {
    const app = makeApp(generation, { schema: schemas.without });
    await generate(app);
    app.write('schema.ts', schemas.public);
    const before = app.files('drizzle');
    const { exitCode, stderr } = await app.cli('migration');
    expect(exitCode).toBe(1);
    expect(stderr).toContain('No migration in drizzle creates "public"."jobs", the table of drizzle-queue.');
    expect(stderr).toContain('run "drizzle-kit generate" first');
    expect(app.files('drizzle')).toEqual(before);
  });

  it("names the schema of the table, and takes no `jobs` of the app's own for it", async () => {
    const own = "\nexport const jobs = pgTable('jobs', { id: bigint('id', { mode: 'number' }) });\n";
    const app = makeApp(generation, { schema: schemas.work + own });
    await generate(app);
    const { exitCode, stderr } = await app.cli('migration');
    expect(exitCode).toBe(1);
    expect(stderr).toContain('There is one in another schema: use --schema work.');

    expect(await app.cli('migration', '--schema', 'work')).toMatchObject({ exitCode: 0 });
    expect(migrations(app).at(-1)).toBe(sqlFor('work'));
  });

  it('adds it again for a table that was dropped and made anew', async () => {
    const app = makeApp(generation, { schema: schemas.public });
    await generate(app);
    await app.cli('migration');
    app.write('schema.ts', schemas.without);
    await generate(app);
    expect(await app.cli('migration')).toMatchObject({ exitCode: 1 });
    app.write('schema.ts', schemas.public);
    await generate(app);
    expect(await app.cli('migration')).toMatchObject({ exitCode: 0 });
    expect(migrations(app).filter((text) => text === sqlFor('public'))).toHaveLength(2);
  });

  it('adds another beside the SQL of an earlier release, and none beside that of a later one', async () => {
    const app = makeApp(generation);
    await generate(app);
    const { stdout } = await app.cli('migration');
    const file = /^Wrote (\S+):$/m.exec(stdout)?.[1] ?? '';
    const before = migrations(app).length;

    app.write(file, sqlFor('public', 2));
    expect(await app.cli('migration')).toMatchObject({ exitCode: 0 });
    expect(migrations(app)).toHaveLength(before);

    app.write(file, sqlFor('public', 0));
    expect(await app.cli('migration')).toMatchObject({ exitCode: 0 });
    expect(migrations(app)).toHaveLength(before + 1);
  });

  it.each<[how: string, break_: (app: App) => void, said: RegExp]>([
    ['fails', (app) => app.write('schema.ts', "throw new Error('a broken schema')"), /a broken schema/],
    ['finds no schema', (app) => app.remove('schema.ts'), /schema/],
  ])('says so when drizzle-kit %s, and changes nothing', async (_how, break_, said) => {
    const app = makeApp(generation);
    await generate(app);
    const before = app.files('drizzle');
    break_(app);
    const { exitCode, stdout, stderr } = await app.cli('migration');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(
      /^error: "drizzle-kit generate --custom" ended with \d and made no migration\. It said:\n\n/,
    );
    expect(stderr).toMatch(said);
    expect(app.files('drizzle')).toEqual(before);
  });

  it('asks for drizzle-kit where there is none', async () => {
    const app = makeApp(generation);
    await generate(app);
    app.write('drizzle.config.ts', "export default { dialect: 'postgresql', schema: './schema.ts' };");
    app.remove('node_modules/drizzle-kit');
    const { exitCode, stderr } = await app.cli('migration');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^error: drizzle-kit is not installed in \S+: npm install --save-dev drizzle-kit\.\n$/,
    );
  });
});

describe('with drizzle-kit 0.31, whose migrations 1.0 orders by the second,', () => {
  it('makes no migration in the second of the one before', async () => {
    const app = makeApp('v0');
    await generate(app);
    const journal = JSON.parse(app.read('drizzle/meta/_journal.json'));
    journal.entries[0].when = Date.now() + 3_000;
    app.write('drizzle/meta/_journal.json', JSON.stringify(journal));
    await app.cli('migration');
    const [first, ours] = JSON.parse(app.read('drizzle/meta/_journal.json')).entries.map(
      ({ when }: { when: number }) => Math.floor(when / 1_000),
    );
    expect(ours).toBeGreaterThan(first);
  });
});

describe('with drizzle-kit 1.0, which notes changes only,', () => {
  it('follows the table into another schema and the schema to another name', async () => {
    const app = makeApp('v1', { schema: schemas.public });
    await generate(app);
    app.write('schema.ts', schemas.work);
    await generate(
      app,
      '--hints',
      '[{"type":"rename","kind":"table","from":["public","jobs"],"to":["work","jobs"]}]',
    );
    expect((await app.cli('migration')).stderr).toContain('use --schema work.');
    app.write('schema.ts', schemas.work.replace("'work'", "'other'"));
    await generate(app, '--hints', '[{"type":"rename","kind":"schema","from":["work"],"to":["other"]}]');
    expect((await app.cli('migration')).stderr).toContain('use --schema other.');
    expect(await app.cli('migration', '--schema', 'other')).toMatchObject({ exitCode: 0 });
  });
});
