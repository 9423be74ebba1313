/**
 * What the moves that a person makes have in common: rows are named by id, locked first and without waiting, and each id is
 * answered.
 */
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { idArray } from '../database/parameters.js';
import { numberOf, type Row, rows, textOf } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { isState, type State } from '../words/states.js';

/** The most ids in one statement. */
export const largestMove = 1_000;

/**
 * - `done`: moved; the row is in `state`, or deleted where that is null
 * - `gone`: there is no such row
 * - `refused`: the move does not lead there from this row's state; or a trigger or policy of the app let nothing change
 * - `busy`: another transaction holds the row, or has changed it since the statement began: ask again
 * - `duplicate`: a replay of it would be a second unfinished job of its dedupe key
 */
export interface MovedRow {
  readonly id: number;
  readonly result: 'done' | 'gone' | 'refused' | 'busy' | 'duplicate';
  readonly state: State | null;
}

export interface PersonsMove {
  /** Which rows may move, on `job`. */
  readonly fits: SQL;
  /** Common table expressions between `mine` (id, state, kind, dedupe_key: locked) and `moved`, each with a comma behind it. */
  readonly between?: SQL;
  /** Whether a row of `mine` is not a duplicate; all are where this is left out. */
  readonly ready?: SQL;
  /** The update or delete of `job` that returns id, state and what `told` names. */
  readonly moved: SQL;
  /** The expression that tells the workers. */
  readonly told?: SQL;
}

/** Makes the move and answers each id, in the order given. Never waits for a row lock. [] for []. */
export async function move(
  db: Executor,
  jobs: TableName,
  ids: readonly number[],
  { fits, between = sql``, ready = sql`true`, moved, told = sql`0` }: PersonsMove,
): Promise<MovedRow[]> {
  if (ids.length === 0) return [];
  const found = await rows(
    db,
    sql`
with asked as materialized (  -- so that a scan does not read the list anew for each row
  select asked.id from unnest(${idArray(ids)}) as asked(id)
),
mine as materialized (  -- locks first, in id order and without waiting: no deadlock, and no stall behind a handler
  select job.id, job.state, job.kind, job.dedupe_key
  from   ${jobs} as job
  where  job.id = any(array(select asked.id from asked)) and ${fits}
  order  by job.id
  for update skip locked
),
${between}moved as (
${moved}
)
-- Lists instead of joins: for those the planner knows too little of the lengths.
select 'done' as what, moved.id, moved.state from moved
union all
select case when ${ready} then 'kept' else 'duplicate' end, mine.id, mine.state from mine
union all
select case when ${fits} then 'busy' else 'refused' end, job.id, job.state
from   ${jobs} as job
where  job.id = any(array(select asked.id from asked))
union all
select 'told', ${told}, null`,
  );
  return answers(ids, found);
}

/** What a row may be listed as, and what that means: the first of these counts. */
const meanings = [
  ['done', 'done'],
  ['duplicate', 'duplicate'],
  ['kept', 'refused'],
  ['busy', 'busy'],
  ['refused', 'refused'],
] as const;

function answers(ids: readonly number[], found: readonly Row[]): MovedRow[] {
  const lists = meanings.map(([what, result]) => {
    const listed = found.filter((row) => row['what'] === what);
    return { result, states: new Map(listed.map((row) => [numberOf(row['id']), stateOf(row)])) };
  });
  return ids.map((id) => {
    const list = lists.find(({ states }) => states.has(id));
    return list
      ? { id, result: list.result, state: list.states.get(id) ?? null }
      : { id, result: 'gone', state: null };
  });
}

function stateOf(row: Row): State | null {
  if (row['state'] == null) return null;
  const state = textOf(row['state']);
  return isState(state) ? state : null; // the table's CHECK lets no other in
}
