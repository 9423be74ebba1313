/** The app's database, through Bun's own driver; takes the place of db.ts. */
import { drizzle } from 'drizzle-orm/bun-sql';

export const db = drizzle({ connection: process.env['DATABASE_URL'] ?? '' });
export const close = (): Promise<void> => db.$client.end();
