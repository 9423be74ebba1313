/**
 * The tests' own tools: what the other tests silently rely on.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createDatabase, useDatabase } from './support/database.js';
import { asAdmin, type EmbeddedPostgres, startEmbedded } from './support/postgres/index.js';
import { templateName } from './support/template.js';
import { until } from './support/until.js';

describe('until', () => {
  it('gives the first truthy value', async () => {
    let looks = 0;
    await expect(until(() => ++looks === 3 && 'third', { what: 'the third look' })).resolves.toBe('third');
    expect(looks).toBe(3);
  });

  it('says what it waited for and what it saw last', async () => {
    const waiting = until(async () => undefined as unknown, { what: 'the job to end', timeoutMs: 20 });
    await expect(waiting).rejects.toThrow(
      'Gave up after 20 ms waiting for the job to end. Last value: undefined.',
    );
  });

  it('takes an error for "not yet" and reports the last one', async () => {
    const cause = new Error('no such row');
    const waiting = until(() => Promise.reject(cause), { what: 'the row', timeoutMs: 20 });
    await expect(waiting).rejects.toMatchObject({ message: expect.stringContaining('no such row'), cause });
  });

  it('gives up on a condition that never answers', async () => {
    const waiting = until(() => new Promise<boolean>(() => {}), { what: 'an answer', timeoutMs: 20 });
    await expect(waiting).rejects.toThrow('The condition never answered.');
  });
});

describe('databases', () => {
  const database = useDatabase();

  it('have the migrated tables, and are reached by both clients', async () => {
    await expect(database.sql`select 1 from jobs`).resolves.toEqual([]);
    await expect(database.db.execute('select current_database() as name')).resolves.toMatchObject([
      { name: new URL(database.url).pathname.slice(1) },
    ]);
  });

  it('are isolated from each other', async () => {
    const other = await createDatabase();
    await asAdmin(other.url, (sql) => sql`create table only_here ()`);
    await expect(database.sql`select to_regclass('only_here') as found`).resolves.toEqual([{ found: null }]);
    await other.drop();
  });

  it('are gone after drop, whoever is connected', async () => {
    const { url, name, drop } = await createDatabase();
    const client = postgres(url);
    await client`select 1`;
    await drop();
    await client.end();
    const [found] = await database.sql`select count(*)::int from pg_database where datname = ${name}`;
    expect(found).toEqual({ count: 0 });
  });

  it('report a client that was not ended, with its name and statement', async () => {
    const other = await createDatabase();
    const leak = postgres(other.url, { connection: { application_name: 'forgetful' } });
    await leak`select 'left open'`;
    const check = other.expectNoConnections();
    await expect(check).rejects.toThrow(
      /1 connection is still open.*\n.*forgetful \(pid \d+, idle\): select 'left open'/,
    );
    await leak.end();
    await expect(other.expectNoConnections()).resolves.toBeUndefined();
    await other.drop();
  });

  it('come from a template nobody can connect to', async () => {
    const { url, run } = inject('postgres');
    const [template] = await asAdmin(
      url,
      (sql) => sql`select datistemplate, datallowconn from pg_database where datname = ${templateName(run)}`,
    );
    expect(template).toEqual({ datistemplate: true, datallowconn: false });
  });
});

describe('the embedded Postgres', () => {
  let server: EmbeddedPostgres;
  beforeAll(async () => {
    server = await startEmbedded({ settings: { fsync: 'on', work_mem: '5MB' } });
  });
  afterAll(() => server.stop());

  it('takes extra settings', async () => {
    const shown = asAdmin(
      server.url,
      (sql) => sql`select current_setting('fsync') as f, current_setting('work_mem') as w`,
    );
    await expect(shown).resolves.toEqual([{ f: 'on', w: '5MB' }]);
  });

  it.each(['fast', 'immediate'] as const)('keeps its address and data over a %s restart', async (mode) => {
    await asAdmin(server.url, (sql) => sql`create table ${sql(mode)} as select 1 as one`);
    await server.restart(mode);
    await expect(asAdmin(server.url, (sql) => sql`select * from ${sql(mode)}`)).resolves.toEqual([
      { one: 1 },
    ]);
  });

  it('runs recovery after an immediate shutdown only', async () => {
    const recoveries = async () => (await server.log()).split('automatic recovery in progress').length - 1;
    const before = await recoveries();
    await server.restart('fast');
    expect(await recoveries()).toBe(before);
    await server.restart('immediate');
    expect(await recoveries()).toBe(before + 1);
  });

  it('answers nobody between halt and start', async () => {
    await server.halt();
    await expect(isUp(server.url)).resolves.toBe(false);
    await server.start();
    await expect(isUp(server.url)).resolves.toBe(true);
  });

  it('says why it does not start', async () => {
    await expect(startEmbedded({ settings: { work_mem: 'lots' } })).rejects.toThrow(
      /did not start: .*work_mem.*lots/,
    );
  });

  it('leaves nothing behind when its owner is killed', async () => {
    const owner = spawnOwner();
    const [line] = await once(createInterface(owner.stdout), 'line');
    const { url, folder }: { url: string; folder: string } = JSON.parse(line);
    await expect(isUp(url)).resolves.toBe(true);
    owner.kill('SIGKILL');
    await until(async () => !(await isUp(url)) && !existsSync(folder), { what: 'server and folder to go' });
  });
});

function isUp(url: string): Promise<boolean> {
  return asAdmin(url, (sql) => sql`select 1`).then(
    () => true,
    () => false,
  );
}

function spawnOwner() {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const program = fileURLToPath(new URL('./support/embedded-owner.ts', import.meta.url));
  return spawn(process.execPath, ['--import', tsx, program], { stdio: ['pipe', 'pipe', 'inherit'] });
}
