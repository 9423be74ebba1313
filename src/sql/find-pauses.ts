/** What is paused. */
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import type { PauseScope, StoredPause } from '../words/pauses.js';

export interface FoundPauses {
  /** The earliest first. */
  readonly pauses: readonly StoredPause[];
  /** All of them as {@link pausesText} has it: another one where anything has changed. */
  readonly text: string;
}

export async function findPauses(db: Executor, limits: TableName): Promise<FoundPauses> {
  const [row] = await rows(db, sql`select ${pausesText(limits)} as pauses`);
  const text = textOf(row?.['pauses']);
  const list: readonly (readonly [scope: PauseScope, name: string, ms: number])[] = JSON.parse(text);
  return { pauses: list.map(([scope, name, ms]) => ({ scope, name, pausedAt: new Date(ms) })), text };
}

/** All of them as one JSON text, which no client's parsers change. */
export function pausesText(limits: TableName): SQL {
  return sql`(
  select coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(paused.scope, paused.name,
           (extract(epoch from least(greatest(paused.paused_at, 'epoch'), timestamptz '9999-12-31'))::float8 * 1000::float8)::bigint)
           order by paused.id)::text, ${'[]'}::text)
  from   ${limits} as paused)`;
}
