/** The one file that turns events into log lines. */
import { errorBrief } from '../words/error-text.js';
import type { Events, JobInfo, PausedPart } from './events.js';

/** Where lines go; `console` fits. */
export interface Log {
  info(line: string): void;
  warn(line: string): void;
  error(line: string): void;
}

/** Writes what an operator would want to read; successes stay silent. */
export function logEvents({ on }: Events, log: Log): void {
  on('started', ({ worker }) => log.info(`drizzle-queue: worker ${worker} started`));
  on('problem', ({ severity, message }) =>
    log[severity === 'error' ? 'error' : 'warn'](`drizzle-queue: ${printable(message)}`),
  );
  on('stopping', ({ running }) => log.info(`drizzle-queue: stopping, ${running} running`));
  on('stopped', ({ unwritten }) =>
    unwritten === 0
      ? log.info('drizzle-queue: stopped')
      : log.warn(
          `drizzle-queue: stopped; ${unwritten} outcomes could not be written, those jobs will be rescued`,
        ),
  );
  on('paused', (part) => log.info(`drizzle-queue: ${whole(part)} is paused`));
  on('resumed', (part) => log.info(`drizzle-queue: ${whole(part)} is resumed`));
  on('failed', ({ job, error, retryInMs }) =>
    log.warn(`drizzle-queue: ${named(job)} failed, again in ${Math.round(retryInMs)} ms: ${line(error)}`),
  );
  on('discarded', ({ job, error }) => log.error(`drizzle-queue: ${named(job)} discarded: ${line(error)}`));
  on('rescued', ({ id, kind, state, lockedBy }) =>
    log.warn(`drizzle-queue: ${printable(kind)} ${id} rescued from ${printable(lockedBy)}, now ${state}`),
  );
  on('released', ({ job }) => log.info(`drizzle-queue: ${named(job)} given back`));
  on('lost', ({ job, during }) => log.warn(`drizzle-queue: ${named(job)} lost during its ${during}`));
  on('unknown', ({ job, move }) =>
    log.warn(`drizzle-queue: ${named(job)}: whether ${move} was written is unknown`),
  );
  on('error', ({ error, during, retryInMs }) =>
    log.error(
      `drizzle-queue: ${during} failed${retryInMs === null ? '' : `, again in ${Math.round(retryInMs)} ms`}: ${line(error)}`,
    ),
  );
}

function named({ kind, id, attempt, maxAttempts }: JobInfo): string {
  return `${printable(kind)} ${id} (attempt ${attempt} of ${maxAttempts})`;
}

function whole({ queue, kind }: PausedPart): string {
  return printable(queue === undefined ? `kind ${kind}` : `queue ${queue}`);
}

function line(error: unknown): string {
  return printable(errorBrief(error));
}

/** Text from rows and errors on one line, without what a terminal would obey. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ');
}
