/** On PGlite: a Postgres inside the test's process, of which nothing has to be installed or started. */
import { PGlite } from '@electric-sql/pglite';
import { drizzle, type PgliteDatabase } from 'drizzle-orm/pglite';
import { beforeAll } from 'vitest';
import { appTests, createTables } from './tests.js';

let db: PgliteDatabase;
beforeAll(async () => {
  db = drizzle({ client: await PGlite.create() });
  await createTables(db);
}, 60_000);

appTests(() => db);
