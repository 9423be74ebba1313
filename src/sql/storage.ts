/** The storage parameters as a statement, for migrations and messages. The library itself never runs it. */
import { storageParameters } from '../database/storage.js';

/** Raised with every change of the statement, so that an app whose migrations have an older one gets another. */
export const storageVersion = 1;

/** `alter table … set (…)`: repeatable, and without a lock that reads or writes wait for. */
export function setStorage(schema: string, table: string): string {
  const parameters = [...storageParameters].map(([name, value]) => `${name} = ${value}`);
  return `alter table ${quotedName(schema, table)} set (${parameters.join(', ')})`;
}

/** A name of one part or more as text; Drizzle quotes only what it sends. */
export function quotedName(...parts: string[]): string {
  return parts.map((name) => `"${name.replaceAll('"', '""')}"`).join('.');
}
