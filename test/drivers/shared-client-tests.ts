/**
 * A client that the app also uses without Drizzle: its own queries answer the same before, between and after ours.
 * `drizzle()` itself changes how postgres.js reads times (and 0.45 how it writes json), so there the comparison begins after it.
 */
import type { PGlite } from '@electric-sql/pglite';
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPglite } from 'drizzle-orm/pglite';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { expect, it } from 'vitest';
import type { Database } from '../../src/index.js';
import { connect, type Driver } from '../support/drivers.js';
import { until } from '../support/until.js';
import { queue } from './app.js';
import type { UsedDriver } from './stage.js';
import { withWorker } from './worker-stage.js';

interface SharedClient {
  /** Rows of a query without Drizzle, one parameter in it. */
  query(text: string, parameter: unknown): Promise<readonly unknown[]>;
  drizzle(): Database;
  /** What others may have left on the client. */
  traces(): unknown;
  end(): Promise<void>;
}

const clients: { readonly [Name in Driver]: (url: string) => Promise<SharedClient> } = {
  'postgres.js': async (url) => {
    const client = postgres(url, { max: 4, onnotice: () => {} });
    return {
      query: async (text, parameter) => [
        ...(await client.unsafe(text, [parameter as postgres.ParameterOrJSON<never>])),
      ],
      drizzle: () => overPostgresJs({ client }),
      traces: () => Object.entries(client.options.parsers).map(([oid, parse]) => [oid, parse]),
      end: () => client.end(),
    };
  },
  'node-postgres': async (url) => {
    const client = new pg.Pool({ connectionString: url, max: 4 });
    return {
      query: async (text, parameter) => (await client.query<object>(text, [parameter])).rows,
      drizzle: () => overPg({ client }),
      traces: () => client.eventNames().map((name) => [name, client.listenerCount(name)]),
      end: () => client.end(),
    };
  },
  pglite: async (url) => {
    const { db } = await connect('pglite', url);
    const client: PGlite = db.$client;
    return {
      query: async (text, parameter) => (await client.query<object>(text, [parameter])).rows,
      drizzle: () => overPglite({ client }),
      traces: () => Object.entries(client.parsers),
      end: async () => {},
    };
  },
};

const query = `
  select $1::text as parameter, '2027-01-01 08:00:00.123456+00'::timestamptz as timestamptz, '2027-01-01'::date as date,
         '2027-01-01 08:00:00'::timestamp as timestamp, interval '1 day 2 hours' as interval, '{"a": [1]}'::jsonb as jsonb,
         '{"a": [1]}'::json as json, 9007199254740991::int8 as int8, 1.5::numeric as numeric, true as bool,
         '{a,NULL}'::text[] as texts, '{1}'::int8[] as int8s, '{2027-01-01}'::date[] as dates,
         current_setting('search_path') as path, current_setting('TimeZone') as zone,
         current_setting('default_transaction_isolation') as isolation, current_setting('application_name') as application`;

export function sharedClientTests(driver: Driver, used: UsedDriver): void {
  it('leaves its settings, its answers and its listeners as they were', async () => {
    const client = await clients[driver](used.url);
    const look = async () => ({ answer: await client.query(query, 'x'), traces: client.traces() });
    try {
      const untouched = await look();
      const db = client.drizzle();
      const before = await look();
      if (driver !== 'postgres.js') expect(before).toEqual(untouched);

      await queue.enqueue(db, 'task', { does: 'complete' });
      expect(await look()).toEqual(before);
      await db.transaction((tx) => queue.enqueueMany(tx, [{ kind: 'task', payload: { does: 'fail once' } }]));
      expect(await look()).toEqual(before);
      const answers: unknown[] = [];
      await withWorker(
        { db },
        async ({ does }, job) => {
          answers.push(...(await client.query(query, 'x')));
          if (does === 'complete') await db.transaction((tx) => job.complete(tx));
          if (does === 'fail once' && job.attempt === 1) throw new Error('no luck');
        },
        async (seen) => {
          await until(() => seen.completed?.length === 2, { what: 'both jobs' });
          answers.push(...(await client.query(query, 'x')));
        },
      );
      expect(answers).toEqual(Array(4).fill(before.answer[0]));
      expect(await look()).toEqual(before);
    } finally {
      await client.end();
    }
  });

  it('takes jobs that it inserts by itself, and reads ours', async () => {
    const client = await clients[driver](used.url);
    try {
      const db = client.drizzle();
      const insert = `insert into jobs (queue, kind, payload) values ('tasks', 'task', $1::text::jsonb) returning id::int as id`;
      const inserted = await client.query(insert, '{"does": "end"}');
      const { id } = await queue.enqueue(db, 'task', { does: 'end' });
      expect(
        await client.query(
          'select id::int as id, payload from jobs where state = $1 order by id',
          'available',
        ),
      ).toEqual([
        { id: 1, payload: { does: 'end' } },
        { id, payload: { does: 'end' } },
      ]);
      const seen = await withWorker(
        { db },
        () => {},
        (seen) => until(() => seen.completed?.length === 2, { what: 'both jobs' }).then(() => {}),
      );
      expect(inserted).toEqual([{ id: 1 }]);
      expect(seen.completed?.map(({ job }) => job.id).sort()).toEqual([1, id]);
    } finally {
      await client.end();
    }
  });
}
