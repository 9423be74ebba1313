/** The SQL of the custom migration, with a comment line by which a later run knows it. */
import { quotedName, setStorage, storageVersion } from '../sql/storage.js';

/** What the library calls its table, whatever schema it is in. */
export const jobsTable = 'jobs';

const marker = (schema: string) =>
  `-- drizzle-queue: storage parameters of ${quotedName(schema, jobsTable)}, version `;

/** All that drizzle-kit cannot express about the jobs table, as the text of a migration. */
export function customSql(schema: string): string {
  return `${marker(schema)}${storageVersion}\n${setStorage(schema, jobsTable)};\n`;
}

/** Whether a migration has this SQL, or that of a later release. */
export function hasCustomSql(migration: string, schema: string): boolean {
  const begin = marker(schema);
  return migration
    .split('\n')
    .some((line) => line.startsWith(begin) && Number(line.slice(begin.length)) >= storageVersion);
}
