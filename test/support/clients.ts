/** Several clients with one real connection each, for tests where workers must not share one. */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';

/** Connects `count` clients, runs `work` with them, and ends them. */
export async function withClients<Result>(
  url: string,
  count: number,
  work: (clients: readonly PostgresJsDatabase[]) => Promise<Result>,
): Promise<Result> {
  const clients = Array.from({ length: count }, () => postgres(url, { max: 1, onnotice: () => {} }));
  try {
    await Promise.all(clients.map((client) => client`select 1`)); // so that all of them start at once
    return await work(clients.map((client) => drizzle({ client })));
  } finally {
    await Promise.all(clients.map((client) => client.end({ timeout: 5 })));
  }
}
