/** What the command tells its user instead of a result: a sentence that says what to do, without a stack. */
export class CliError extends Error {}

/** The message of anything that was thrown. */
export function reason(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
