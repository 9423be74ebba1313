/**
 * Finds connections that a test file forgot to close.
 */
import { asAdmin } from './postgres/index.js';
import { until } from './until.js';

/** A closed connection stays visible until the server has ended its process. */
const VANISH_LIMIT_MS = 3_000;

type Connection = { pid: number; application: string; state: string | null; query: string };

/** @throws Error that names each client still connected to the database, and its last statement. */
export async function expectNoConnections(adminUrl: string, database: string): Promise<void> {
  await asAdmin(adminUrl, async (sql) => {
    let open: Connection[] = [];
    const look = async () => {
      open = await sql<Connection[]>`
        select pid, application_name as application, state, query
        from pg_stat_activity where datname = ${database} and backend_type = 'client backend' order by pid`;
      return open.length === 0;
    };
    await until(look, { what: `the connections to ${database} to close`, timeoutMs: VANISH_LIMIT_MS }).catch(
      (cause) => {
        if (open.length === 0) throw cause;
        const count = open.length === 1 ? '1 connection is' : `${open.length} connections are`;
        throw new Error(`${count} still open to ${database}:\n${open.map(asLine).join('\n')}`);
      },
    );
  });
}

function asLine({ pid, application, state, query }: Connection): string {
  const statement = query.replace(/\s+/g, ' ').trim().slice(0, 200) || 'no statement yet';
  return `  ${application || 'no application_name'} (pid ${pid}, ${state ?? 'no state'}): ${statement}`;
}
