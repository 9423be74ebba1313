/** The two statements of the hand-written loop: as short as they can be, or those of the library. */
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Sql } from 'postgres';
import { tableName } from '../../../dist/database/table-name.js';
import { claimStatement } from '../../../dist/sql/claim.js';
import { completeMany } from '../../../dist/sql/complete-many.js';
import { jobs } from '../library.js';

export type Batch = readonly { readonly id: number; readonly payload: { readonly n: number } }[];

export interface Statements {
  claim(lockedBy: string, jobs: number): Promise<Batch>;
  finish(lockedBy: string, jobs: Batch): Promise<unknown>;
}

export function plainStatements(sql: Sql): Statements {
  return {
    claim: (lockedBy, count) => sql<{ id: number; payload: { n: number } }[]>`
      with next as materialized (
        select id from jobs
        where  state = 'available' and queue = 'default' and run_at <= now()
        order  by priority desc, run_at, id
        limit  ${count}
        for update skip locked
      )
      update jobs
      set    state = 'running', locked_by = ${lockedBy}, attempts = attempts + 1,
             heartbeat_at = clock_timestamp(), started_at = clock_timestamp()
      where  id = any(array(select id from next))
      returning id, payload`,
    finish: (lockedBy, batch) => sql`
      delete from jobs
      where id = any(${batch.map(({ id }) => id)}::bigint[]) and state = 'running' and locked_by = ${lockedBy}`,
  };
}

/** Takes the texts from the library, and puts other values in the place of its parameters. */
export function ourStatements(sql: Sql): Statements {
  const table = tableName(jobs);
  const dialect = new PgDialect();
  const parameters = (values: readonly unknown[]) => values.map((value) => String(value));
  const mark = 'mark/1';

  const claimQuery = (count: number) =>
    dialect.sqlToQuery(
      claimStatement(table, { want: new Map([['default', count]]), kinds: ['noop'], lockedBy: mark }),
    );
  const completeQuery = capture((db) => completeMany(db, table, [{ id: 1, lockedBy: mark }])).then((query) =>
    dialect.sqlToQuery(query),
  );

  let claimOf: { count: number; text: string; values: string[] } | undefined;
  return {
    async claim(lockedBy, count) {
      if (claimOf?.count !== count) {
        const { sql: text, params } = claimQuery(count);
        claimOf = { count, text, values: parameters(params) };
      }
      const values = claimOf.values.map((value) => (value === mark ? lockedBy : value));
      const rows = await sql.unsafe<{ id: number; payload: string | null }[]>(claimOf.text, values, {
        prepare: true,
      });
      // The last row tells about the table.
      return rows.slice(0, -1).map(({ id, payload }) => ({ id, payload: JSON.parse(payload ?? '{}') }));
    },
    async finish(lockedBy, batch) {
      const { sql: text, params } = await completeQuery;
      const values = parameters(params).map((value) =>
        value.includes(mark) ? list(batch, () => lockedBy) : list(batch, ({ id }) => id),
      );
      await sql.unsafe(text, values, { prepare: true });
    },
  };
}

function list(batch: Batch, of: (job: Batch[number]) => string | number): string {
  return `{${batch.map((job) => `"${of(job)}"`).join(',')}}`;
}

type Query = Parameters<PgDialect['sqlToQuery']>[0];

/** The query that a function of the library would have sent. */
function capture(
  send: (db: { execute(query: Query): Promise<never[]>; transaction(): Promise<never> }) => unknown,
): Promise<Query> {
  return new Promise((resolve) => {
    send({
      execute: async (query) => {
        resolve(query);
        return [];
      },
      transaction: () => Promise.reject(new Error('No transaction is expected here.')),
    });
  });
}
