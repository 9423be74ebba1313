/** What an app would write by hand to put a job into our table: a bulk insert, and a plain Drizzle insert. */
import postgres from 'postgres';
import { readMigrations } from '../../support/migrations.js';
import { jobs } from '../library.js';
import { type Contender, parts } from './contender.js';

export interface PlainInsertOptions {
  /** Also `pg_notify` in each transaction. @default false */
  readonly notify?: boolean | undefined;
}

export function createPlainInsert(url: string, { notify = false }: PlainInsertOptions): Contender {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  return {
    settings: { driver: 'postgres.js', ...(notify ? { 'pg_notify in each transaction': true } : {}) },
    async prepare() {
      for (const migration of await readMigrations()) await sql.unsafe(migration);
    },
    async fill(count) {
      for (const part of parts(count, 5_000)) {
        const list = JSON.stringify(part.map((n) => ({ kind: 'noop', payload: { n } })));
        await sql`
          insert into jobs (kind, payload)
          select new.kind, new.payload
          from   jsonb_to_recordset(${list}::text::jsonb) as new(kind text, payload jsonb)
          returning id`;
      }
    },
    async enqueueIn(tx, n) {
      await tx
        .insert(jobs)
        .values({
          queue: 'default',
          kind: 'noop',
          payload: { n },
          priority: 0,
          maxAttempts: 10,
          timeoutS: 60,
        })
        .returning({ id: jobs.id });
      if (notify) await tx.execute(`select pg_notify('jobs', '')`);
    },
    async end() {
      await sql.end({ timeout: 5 });
    },
  };
}
