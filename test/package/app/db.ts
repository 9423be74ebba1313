/** The app's database, through postgres.js. */
import { drizzle } from 'drizzle-orm/postgres-js';

export const db = drizzle({ connection: process.env['DATABASE_URL'] ?? '' });
export const close = (): Promise<void> => db.$client.end();
