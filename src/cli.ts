#!/usr/bin/env node
/** `drizzle-queue`: the command. What it does is in `cli/`. */
import { CliError } from './cli/cli-error.js';
import { program } from './cli/program.js';

try {
  await program().parseAsync();
} catch (error) {
  // Of anything else the stack is wanted: it is a fault of ours.
  console.error(error instanceof CliError ? `error: ${error.message}` : error);
  process.exitCode = 1;
}
