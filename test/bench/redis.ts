/** A Redis of the bench's own, where `redis-server` is installed; gone when the bench is, however that ends. */
import { spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../support/postgres/free-port.js';
import { guardFolder } from '../support/postgres/guard.js';
import { until } from '../support/until.js';

export interface RedisServer {
  readonly url: string;
  readonly version: string;
  stop(): Promise<void>;
}

/** Undefined where there is none. Persistence is as BullMQ's page on production asks: an append-only file, every second. */
export async function startRedis(): Promise<RedisServer | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'drizzle-queue-bench-redis-'));
  const guard = guardFolder(folder);
  const port = await freePort();
  const child = spawn(
    'redis-server',
    ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'yes'],
    { detached: true, stdio: 'ignore' },
  );
  const missing = await new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(true));
    child.once('spawn', () => resolve(false));
  });
  if (missing) {
    await guard.release();
    return undefined;
  }
  guard.watch(child.pid);
  child.unref();
  const url = `redis://127.0.0.1:${port}`;
  const redis = new Redis(url, { maxRetriesPerRequest: null });
  redis.on('error', () => {}); // not up yet
  try {
    await until(async () => (await redis.ping()) === 'PONG', { what: 'redis-server' });
    const version = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? 'unknown';
    return { url, version, stop: () => guard.release() };
  } catch (error) {
    await guard.release();
    throw error;
  } finally {
    redis.disconnect();
  }
}
