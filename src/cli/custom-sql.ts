/** The SQL of the custom migration, in parts, each with a comment line by which a later run knows it. */
import { quotedName, setStorage, storageVersion } from '../sql/storage.js';
import { createWakeTrigger, wakeTriggerVersion } from '../sql/wake-trigger.js';

/** What the library calls its table, whatever schema it is in. */
export const jobsTable = 'jobs';

/** Something that drizzle-kit cannot express about the jobs table. */
export interface CustomPart {
  readonly what: string;
  readonly version: number;
  statements(schema: string): readonly string[];
}

const storage: CustomPart = {
  what: 'storage parameters',
  version: storageVersion,
  statements: (schema) => [setStorage(schema, jobsTable)],
};

const wakeTrigger: CustomPart = {
  what: 'wake-up trigger',
  version: wakeTriggerVersion,
  statements: (schema) => createWakeTrigger(schema, jobsTable),
};

/** What an app has in its migrations: all that everybody needs, and what it has asked for. */
export function customParts({ trigger }: { readonly trigger: boolean }): readonly CustomPart[] {
  return trigger ? [storage, wakeTrigger] : [storage];
}

const marker = ({ what }: CustomPart, schema: string) =>
  `-- drizzle-queue: ${what} of ${quotedName(schema, jobsTable)}, version `;

/** As the text of a migration. Its statements are sent one by one: PGlite takes no two at once. */
export function customSql(parts: readonly CustomPart[], schema: string): string {
  const texts = parts.flatMap((part) => {
    const [first, ...others] = part.statements(schema);
    return [`${marker(part, schema)}${part.version}\n${first};\n`, ...others.map((other) => `${other};\n`)];
  });
  return texts.join('--> statement-breakpoint\n');
}

/** Whether a migration has this part, or that of a later release. */
export function hasCustomSql(migration: string, part: CustomPart, schema: string): boolean {
  const begin = marker(part, schema);
  return migration
    .split('\n')
    .some((line) => line.startsWith(begin) && Number(line.slice(begin.length)) >= part.version);
}
