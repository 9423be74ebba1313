/** The app's connection to its database. */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres, { type Sql } from 'postgres';

export type Db = PostgresJsDatabase & { readonly $client: Sql };

/** `name` is what `pg_stat_activity` shows. */
export function connect(url: string, name: string): Db {
  return drizzle({ client: postgres(url, { onnotice: () => {}, connection: { application_name: name } }) });
}

/** The value of an environment variable that the process cannot do without. */
export function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`Set ${name}.`);
  return value;
}
