/** The commands and options of `drizzle-queue`; what each command does is in a file of its own. */
import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { addMigration } from './add-migration.js';
import { customParts, customSql } from './custom-sql.js';

const triggerOption = 'also the trigger that tells workers of jobs which come by plain SQL';

/** Prints to stdout what a command gives; what goes wrong is thrown, or printed by commander, which exits with 1. */
export function program(): Command {
  const drizzleQueue = new Command('drizzle-queue')
    .description('Background jobs in the Postgres of a Drizzle app.')
    .version(version());

  drizzleQueue
    .command('migration')
    .summary('add what drizzle-kit cannot express to the migrations of the app')
    .description(
      'Writes what drizzle-kit cannot express, the storage parameters of the jobs table, into a custom migration ' +
        '("drizzle-kit generate --custom"). Run it after "drizzle-kit generate", and after every update of ' +
        'drizzle-queue: it changes nothing when a migration has it already. It does not talk to the database.',
    )
    .option('--config <file>', 'the config of drizzle-kit (default: as drizzle-kit finds it)')
    .option('--schema <name>', 'the Postgres schema of the jobs table', schemaName, 'public')
    .option('--name <name>', 'the name of the migration', migrationName, 'drizzle_queue')
    .option('--trigger', triggerOption)
    .action(async (options: { config?: string; schema: string; name: string; trigger?: true }) => {
      console.log(await addMigration({ ...options, trigger: options.trigger === true }));
    });

  drizzleQueue
    .command('sql')
    .summary('print the same SQL, for drizzle-kit push and other migration tools')
    .description(
      'Prints the SQL that "drizzle-queue migration" writes, for "drizzle-kit push" and other tools.',
    )
    .option('--schema <name>', 'the Postgres schema of the jobs table', schemaName, 'public')
    .option('--trigger', triggerOption)
    .action(({ schema, trigger }: { schema: string; trigger?: true }) => {
      process.stdout.write(customSql(customParts({ trigger: trigger === true }), schema));
    });

  return drizzleQueue;
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

function schemaName(given: string): string {
  // It gets into a comment line: a line break would end that.
  if (given !== '' && !/\p{Cc}/u.test(given)) return given;
  throw new InvalidArgumentError('It must have a character, and no control characters.');
}

function migrationName(given: string): string {
  if (/^[\w-]+$/.test(given)) return given;
  throw new InvalidArgumentError('It becomes a file name: use letters, digits, "_" and "-".');
}
