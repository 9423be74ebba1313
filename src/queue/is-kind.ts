/** `queue.isKind`: Drizzle types columns one by one, so a row's kind says nothing about its payload by itself. */
import { type AnyRegistry, kindOf } from '../registry/registry.js';
import type { StoredPayload, StoredResult } from '../words/row-types.js';

/** A row of the jobs table, or the part of one that a query selected. Of a left join, its columns may be null. */
export interface AnyRow {
  readonly kind: string | null;
  readonly payload: unknown;
}

/** What is known of a row of this kind. */
export interface RowOfKind<R extends AnyRegistry, Kind extends keyof R['kinds']> {
  readonly kind: Kind;
  readonly payload: StoredPayload<R['kinds'][Kind]['$payload']>;
  /** Where the query selected it. */
  readonly result?: StoredResult<R['kinds'][Kind]['$result']>;
}

/** Whether the row is called so. Looks at `kind` alone: not at aliases, nor at the version. */
export function isKind<R extends AnyRegistry, Kind extends keyof R['kinds'] & string>(
  registry: R,
  row: AnyRow | null | undefined,
  kind: Kind,
): row is RowOfKind<R, Kind> {
  kindOf(registry, kind); // a kind that nobody knows is a mistake, not a no
  return row?.kind === kind;
}
