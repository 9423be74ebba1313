/**
 * Once a run, before any test file: a Postgres server and a migrated template database for the files to
 * clone. Afterwards the databases of the run are dropped and a server that was started here is stopped.
 */
import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { startPostgres } from './postgres/index.js';
import type {} from './provided.js';
import { createTemplate, dropRun } from './template.js';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres();
  const run = randomBytes(4).toString('hex');
  const teardown = async () => {
    try {
      // Our own server takes its databases with it.
      if (postgres.source === 'DATABASE_URL') await dropRun(postgres.url, run);
    } finally {
      await postgres.stop();
    }
  };
  try {
    await createTemplate(postgres.url, run);
  } catch (error) {
    await teardown();
    throw error;
  }
  const { url, version, source } = postgres;
  project.provide('postgres', { url, run, version, source });
  console.log(`Postgres ${version} (${source})`);
  return teardown;
}
