/**
 * Short visits to a server as the role that made it: one connection, closed before the call returns.
 */
import postgres, { type Sql } from 'postgres';

export async function asAdmin<Result>(url: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const sql = postgres(url, {
    max: 1,
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: 'drizzle-queue tests' },
  });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

export function serverVersion(url: string): Promise<string> {
  return asAdmin(url, async (sql) => {
    const [row] = await sql<{ version: string }[]>`select current_setting('server_version') as version`;
    // Debian answers "15.14 (Debian 15.14-0+deb12u1)".
    return row?.version.split(' ')[0] ?? 'unknown';
  });
}
