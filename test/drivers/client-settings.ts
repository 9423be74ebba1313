/** Clients set up as apps set them up: what they send, and how they read answers, is not the driver's default any more. */
import type { PGlite } from '@electric-sql/pglite';
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { drizzle as overPglite } from 'drizzle-orm/pglite';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import type { Database } from '../../src/index.js';
import { connect, type Driver } from '../support/drivers.js';

export interface Client {
  readonly db: Database;
  end(): Promise<void>;
}

type Settings = { readonly [name: string]: (url: string) => Promise<Client> };

const asIs = (value: string) => value;
const refuse = () => {
  throw new Error('not meant for this value');
};

function postgresJs(options: postgres.Options<Record<string, postgres.PostgresType>>) {
  return async (url: string): Promise<Client> => {
    const client = postgres(url, { onnotice: () => {}, ...options });
    return { db: overPostgresJs({ client }), end: () => client.end() };
  };
}

/** `binary` is an option that the types of pg do not have. */
function nodePostgres(options: pg.PoolConfig & { readonly binary?: boolean }) {
  return async (url: string): Promise<Client> => {
    const client = new pg.Pool({ connectionString: url, ...options });
    return { db: overPg({ client }), end: () => client.end() };
  };
}

/** Parsers of the whole process: Drizzle asks `pg.types`, and never the types of a pool. */
function nodePostgresTypes(parsers: { readonly [oid: number]: (text: string) => unknown }) {
  return async (url: string): Promise<Client> => {
    const { types } = pg;
    const oids = Object.keys(parsers).map(Number);
    const before = oids.map((oid) => [oid, types.getTypeParser(oid, 'text')] as const);
    for (const oid of oids) types.setTypeParser(oid, parsers[oid] ?? asIs);
    const client = await nodePostgres({})(url);
    return {
      db: client.db,
      async end() {
        for (const [oid, parser] of before) types.setTypeParser(oid, parser);
        await client.end();
      },
    };
  };
}

/** The file's one PGlite, which takes seconds to start, with other parsers until the end. */
function pglite(parsers: PGlite['parsers']) {
  return async (url: string): Promise<Client> => {
    const { db } = await connect('pglite', url);
    const client = db.$client;
    const before = { ...client.parsers };
    Object.assign(client.parsers, parsers);
    return { db: overPglite({ client }), end: async () => void Object.assign(client.parsers, before) };
  };
}

const [int8, int4, int2, float8, json, jsonb, timestamptz] = [20, 23, 21, 701, 114, 3802, 1184];
const texts = { [int8]: asIs, [int4]: asIs, [int2]: asIs, [float8]: asIs };
const bigints = { [int8]: BigInt, [int4]: BigInt, [int2]: BigInt };
const jsonTexts = { [json]: asIs, [jsonb]: asIs };

export const settings: { readonly [Name in Driver]: Settings } = {
  'postgres.js': {
    'no array types': postgresJs({ fetch_types: false }),
    'no prepared statements': postgresJs({ prepare: false }),
    'one connection': postgresJs({ max: 1 }),
    'names in camel case': postgresJs({ transform: postgres.camel }),
    'names in Pascal case': postgresJs({ transform: postgres.pascal }),
    'names in kebab case': postgresJs({ transform: postgres.kebab }),
    'undefined as null': postgresJs({ transform: { undefined: null } }),
    'int8 as bigint': postgresJs({ types: { bigint: postgres.BigInt } }),
    'numbers as text': postgresJs({
      types: { numbers: { to: int4, from: [int8, int4, int2, float8], serialize: String, parse: asIs } },
    }),
    'json as text': postgresJs({
      types: { text: { to: jsonb, from: [json, jsonb], serialize: asIs, parse: asIs } },
    }),
    'times of its own': postgresJs({
      types: {
        time: {
          to: timestamptz,
          from: [timestamptz],
          serialize: refuse,
          parse: (text: string) => new Date(text),
        },
      },
    }),
  },
  'node-postgres': {
    'binary answers': nodePostgres({ binary: true }),
    'one connection': nodePostgres({ max: 1 }),
    'parsers of its own in the pool': nodePostgres({ types: { getTypeParser: () => refuse } }),
    'int8 and others as bigint': nodePostgresTypes(bigints),
    'numbers as text': nodePostgresTypes(texts),
    'json as text': nodePostgresTypes(jsonTexts),
    'times of its own': nodePostgresTypes({ [timestamptz]: refuse }),
  },
  pglite: {
    'int8 and others as bigint': pglite(bigints),
    'numbers as text': pglite(texts),
    'json as text': pglite(jsonTexts),
    'times of its own': pglite({ [timestamptz]: refuse }),
  },
};
