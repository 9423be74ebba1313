/** What the bench runs on and with, for the report. */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Settings } from './contenders/contender.js';
import { root } from './library.js';
import type { RedisServer } from './redis.js';
import { type Server, serverSettings } from './server.js';

/** Where each measured package is installed. */
const packages = {
  'drizzle-queue': '.',
  'drizzle-orm': 'node_modules/drizzle-orm',
  postgres: 'node_modules/postgres',
  pg: 'test/bench/node_modules/pg',
  'graphile-worker': 'test/bench/node_modules/graphile-worker',
  'pg-boss': 'test/bench/node_modules/pg-boss',
  bullmq: 'test/bench/node_modules/bullmq',
} as const;

export function machine(): Settings {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    'memory GB': Math.round(totalmem() / 2 ** 30),
    os: process.platform,
  };
}

export function versions(redis: RedisServer | undefined): Settings {
  const installed = Object.entries(packages).map(([name, folder]) => {
    const { version }: { version: string } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    );
    return [name, version];
  });
  return {
    node: process.version,
    ...Object.fromEntries(installed),
    redis: redis?.version ?? 'not installed',
  };
}

export function postgresSettings(server: Server): Settings {
  const { log_line_prefix: _, ...settings } = serverSettings;
  return { version: server.version, ...settings };
}
