/** The worker's own connections may have other defaults than the database: then its statements need no transaction around them. */
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { beforeAll, expect, it } from 'vitest';
import { sessionDefaults } from '../../src/sql/session.js';
import { queue } from '../drivers/app.js';
import { withWorker } from '../drivers/worker-stage.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';

const database = useDatabase();
beforeAll(async () => {
  const name = database.sql(new URL(database.url).pathname.slice(1));
  await database.sql`alter database ${name} set default_transaction_isolation = 'serializable'`;
  await database.sql`alter database ${name} set default_transaction_read_only = on`;
});

// As the server reads them. postgres.js would leave out a `false`, which it has options of its own for.
const options = '-c default_transaction_isolation=read\\ committed -c default_transaction_read_only=off';

const clients = {
  'postgres.js': () => {
    const client = postgres(database.url, { connection: { options } });
    return { db: overPostgresJs({ client }), end: () => client.end() };
  },
  'node-postgres': () => {
    const client = new pg.Pool({ connectionString: database.url, options });
    return { db: overPg({ client }), end: () => client.end() };
  },
};

it.each(['postgres.js', 'node-postgres'] as const)('as the README says for %s', async (driver) => {
  const { db, end } = clients[driver]();
  expect(await sessionDefaults(db)).toEqual({ isolation: 'read committed', readOnly: false });
  await queue.enqueue(db, 'task', { does: 'end' });
  const seen = await withWorker(
    { db },
    () => {},
    (seen) => until(() => seen.completed, { what: 'the task' }).then(() => {}),
  );
  expect(seen.error).toBeUndefined();
  await end();
});
