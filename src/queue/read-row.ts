/** `queue.read`: a row as the registry has it today, whatever release of the app has enqueued it. */
import { kindOfAlias } from '../registry/aliases.js';
import { type AnyRegistry, kindOf } from '../registry/registry.js';
import { upToDate } from '../registry/upgrades.js';
import { invalidOption } from '../words/errors.js';
import type { StoredPayload } from '../words/row-types.js';

/** A row of the jobs table, or any selection with these three columns. */
export interface ReadableRow {
  readonly kind: string;
  readonly payload: unknown;
  readonly payloadVersion: number;
}

/** The row with its kind, payload and version as the registry has them: a union by kind. */
export type ReadRow<R extends AnyRegistry, Row> = {
  [K in keyof R['kinds'] & string]: Omit<Row, keyof ReadableRow> & {
    kind: K;
    payload: StoredPayload<R['kinds'][K]['$payload']>;
    payloadVersion: number;
  };
}[keyof R['kinds'] & string];

/** Throws `UNKNOWN_KIND`, `PAYLOAD_NOT_UPGRADED`, or `INVALID_OPTION` for what is no such row. */
export function readRow<R extends AnyRegistry, Row extends ReadableRow>(
  registry: R,
  row: Row,
): ReadRow<R, Row> {
  checkRow(row);
  const isKind = Object.hasOwn(registry.kinds, row.kind);
  const name = (isKind ? undefined : kindOfAlias(registry.kinds, row.kind)) ?? row.kind;
  const type = kindOf(registry, name);
  const payload = upToDate(name, type, row.payload, row.payloadVersion);
  // Which member of the union it is depends on the row.
  return { ...row, kind: name, payload, payloadVersion: type.version } as unknown as ReadRow<R, Row>;
}

function checkRow(row: unknown): void {
  const { kind, payloadVersion, ...rest } = Object(row) as Partial<Record<keyof ReadableRow, unknown>>;
  if (typeof kind === 'string' && Number.isInteger(payloadVersion) && 'payload' in rest) return;
  throw invalidOption('row', 'a row with `kind`, `payload` and `payloadVersion`', row);
}
