/** What scenarios measure on: a server, and contenders in processes of their own, each with a fresh database. */

import type { FillOptions, Settings } from './contenders/contender.js';
import { type ContenderSpec, tablesOf, usesRedis } from './contenders/index.js';
import { type ContenderProcess, startContender } from './process/contender-process.js';
import type { RedisServer } from './redis.js';
import type { Database, Server } from './server.js';

export interface Bench {
  readonly contender: ContenderProcess;
  readonly database: Database;
  /** One more process of the contender on the same database. */
  another(): Promise<ContenderProcess>;
}

export interface FreshOptions {
  /** Jobs that are there already: filled once, and copied for each round. */
  readonly filled?: readonly ({ readonly jobs: number } & FillOptions)[] | undefined;
  readonly nodeOptions?: readonly string[] | undefined;
  /** Before the contender connects. */
  readonly before?: ((database: Database) => Promise<void>) | undefined;
}

export interface Stage {
  /** Runs `work` with the contender on a fresh database that has its tables, and cleans up. */
  fresh<Result>(
    spec: ContenderSpec,
    work: (bench: Bench) => Promise<Result>,
    options?: FreshOptions,
  ): Promise<Result>;
  /** What the contender says that it runs with. */
  settings(spec: ContenderSpec): Settings | undefined;
  /** Forgets the filled databases of a scenario. */
  clear(): Promise<void>;
}

export function createStage(server: Server, redis: RedisServer | undefined): Stage {
  const templates = new Map<string, Database>();
  const settings = new Map<ContenderSpec, Settings>();

  async function template(spec: ContenderSpec, filled: FreshOptions['filled'] = []): Promise<Database> {
    const key = JSON.stringify([tablesOf(spec), filled]);
    const known = templates.get(key);
    if (known) return known;
    const database = await server.createDatabase(filled.length > 0 ? await template(spec) : undefined);
    const contender = startContender(spec, database.url);
    try {
      if (filled.length === 0) await contender.call('prepare');
      for (const { jobs, ...options } of filled) await contender.call('fill', jobs, options);
    } finally {
      await contender.end();
    }
    await database.settle();
    templates.set(key, database);
    return database;
  }

  return {
    async fresh(spec, work, { filled = [], nodeOptions, before } = {}) {
      const copied = usesRedis(spec) ? undefined : await template(spec, filled);
      const database = await server.createDatabase(copied, filled.length > 0);
      const processes: ContenderProcess[] = [];
      const start = (options?: readonly string[]) => {
        const started = startContender(spec, usesRedis(spec) ? (redis?.url ?? '') : database.url, options);
        processes.push(started);
        return started;
      };
      try {
        await before?.(database);
        const contender = start(nodeOptions);
        if (usesRedis(spec)) await contender.call('prepare');
        settings.set(spec, await contender.call('settings'));
        return await work({ contender, database, another: async () => start() });
      } finally {
        await Promise.all(processes.map((one) => one.end()));
        await database.drop();
      }
    },
    settings: (spec) => settings.get(spec),
    async clear() {
      for (const [key, database] of templates) {
        if (key.endsWith(',[]]')) continue;
        templates.delete(key);
        await database.drop();
      }
    },
  };
}
