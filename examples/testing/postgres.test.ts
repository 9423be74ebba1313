/** On Postgres: an empty database at `DATABASE_URL`. */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterAll, beforeAll } from 'vitest';
import { appTests, createTables } from './tests.js';

const db = drizzle({ client: postgres(process.env['DATABASE_URL'] ?? '', { onnotice: () => {} }) });
beforeAll(() => createTables(db));

appTests(() => db);
afterAll(() => db.$client.end({ timeout: 5 }));
