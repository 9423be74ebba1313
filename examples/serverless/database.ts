/** One client for all calls of a warm instance; small, since there may be many instances. */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';

export const db = drizzle({
  client: postgres(process.env['DATABASE_URL'] ?? '', { max: 3, idle_timeout: 20, onnotice: () => {} }),
});
