/** The statements that Postgres wrote to its log. */

/** The prefix of every line: the database, and the time as seconds since 1970. */
export const logLinePrefix = '%d %n ';

export interface LoggedStatement {
  /** Since 1970. */
  readonly atMs: number;
  readonly text: string;
}

const start = /^(\S+) (\d+\.\d+) LOG: {2}(?:statement|execute [^:]*): (.*)$/;

/** Those sent to this database, in their order. */
export function statementsIn(log: string, database: string): LoggedStatement[] {
  const statements: { atMs: number; text: string }[] = [];
  let last: { atMs: number; text: string } | undefined;
  for (const line of log.split('\n')) {
    if (line.startsWith('\t')) {
      if (last) last.text += `\n${line.slice(1)}`; // the next line of its text
      continue;
    }
    const [, name, seconds, text = ''] = start.exec(line) ?? [];
    last = name === database ? { atMs: Number(seconds) * 1_000, text } : undefined;
    if (last) statements.push(last);
  }
  return statements;
}
