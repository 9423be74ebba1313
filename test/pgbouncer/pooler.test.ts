/** The tests' own PgBouncer: what the other files of this folder silently rely on. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import postgres from 'postgres';
import { expect, it } from 'vitest';
import { asAdmin } from '../support/postgres/index.js';
import { startPgBouncer } from '../support/postgres/pgbouncer.js';
import { until } from '../support/until.js';
import { reconnect, usePooler } from './stage.js';

const used = usePooler();

it('gives the statements of one client to whichever connection is free', async () => {
  await reconnect(used.pooler);
  const client = postgres(used.pooler.url, { max: 1, prepare: false, fetch_types: false });
  const other = postgres(used.pooler.url, { max: 1, prepare: false, fetch_types: false });
  const pid = async () => (await client<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid;
  const first = await pid();
  const second = await other.begin(async (busy) => {
    await busy`select 1`;
    return pid();
  });
  await Promise.all([client.end(), other.end()]);
  expect(second).not.toBe(first);
});

it('keeps its address over a kill, during which nobody is answered', async () => {
  await used.pooler.kill();
  expect(await isUp(used.pooler.url)).toBe(false);
  await used.pooler.start();
  expect(await isUp(used.pooler.url)).toBe(true);
});

it('says why it does not start', async () => {
  const started = startPgBouncer(used.direct.url, { settings: { pool_mode: 'none' } });
  await expect(started).rejects.toThrow(/did not start: .*pool_mode/s);
});

it('leaves nothing behind when its owner is killed', async () => {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const program = fileURLToPath(new URL('../support/pgbouncer-owner.ts', import.meta.url));
  const owner = spawn(process.execPath, ['--import', tsx, program, used.direct.url], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(owner.stdout), 'line');
  const { url, folder }: { url: string; folder: string } = JSON.parse(line);
  expect(await isUp(url)).toBe(true);
  owner.kill('SIGKILL');
  await until(async () => !(await isUp(url)) && !existsSync(folder), { what: 'pooler and folder to go' });
});

function isUp(url: string): Promise<boolean> {
  return asAdmin(url, (sql) => sql`select 1`).then(
    () => true,
    () => false,
  );
}
