/** Waits for the end of a job by looking for it. */
import { withTimeLimit } from '../database/time-limit.js';
import type { FoundEnd } from '../sql/find-end.js';
import { QueueError, show } from '../words/errors.js';

/** Between two looks: a quarter of the time since the first, within these bounds. */
const pauseMs = { shortest: 20, longest: 1_000 };
/** What a look is given at least, however little time is left. */
const lookMs = 1_000;

interface Awaited {
  readonly kind: string;
  /** What its row may be called. */
  readonly names: readonly string[];
  readonly id: number;
  readonly timeoutMs: number;
  look(): Promise<FoundEnd | undefined>;
}

/** The result of the job once it has completed. */
export async function waitForResult(job: Awaited): Promise<unknown> {
  const began = performance.now();
  const until = began + job.timeoutMs;
  for (;;) {
    const end = await lookOnce(job, until - performance.now());
    if (!end || !job.names.includes(end.kind)) throw notFound(job, end);
    if (end.state === 'completed') return end.result;
    if (end.state === 'discarded') throw discarded(job, end);
    if (end.state === 'cancelled') throw error(job, 'JOB_CANCELLED', 'was cancelled');
    const now = performance.now();
    if (now >= until) throw timedOut(job, end.state);
    const pause = Math.min(Math.max((now - began) / 4, pauseMs.shortest), pauseMs.longest, until - now);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** A look may wait in the driver for as long as there is no connection. */
async function lookOnce(job: Awaited, leftMs: number): Promise<FoundEnd | undefined> {
  try {
    return await withTimeLimit(job.look(), Math.max(leftMs, lookMs));
  } catch (cause) {
    if (!(cause instanceof QueueError) || cause.code !== 'STATEMENT_TIMEOUT') throw cause;
    throw timedOut(job, undefined, cause);
  }
}

function discarded(job: Awaited, { lastError }: FoundEnd): QueueError {
  const [firstLine = ''] = (lastError ?? '').split('\n');
  const why = firstLine === '' ? '' : `: ${firstLine}`;
  return error(job, 'JOB_DISCARDED', `was discarded${why}`, { data: { lastError } });
}

function notFound(job: Awaited, other: FoundEnd | undefined): QueueError {
  return error(
    job,
    'JOB_NOT_FOUND',
    other
      ? `is of the kind ${show(other.kind)}`
      : 'is not there: it was removed, its transaction has not committed, or the worker that completed it does not keep ' +
          'the rows of its kind',
  );
}

function timedOut(job: Awaited, state: string | undefined, cause?: unknown): QueueError {
  const { timeoutMs } = job;
  const stands = state === undefined ? 'could not be looked at' : `was ${state}`;
  return error(job, 'WAIT_TIMEOUT', `${stands} after ${timeoutMs} ms; it goes on`, {
    data: { timeoutMs, state },
    cause,
  });
}

function error(
  { kind, id }: Awaited,
  code: 'JOB_DISCARDED' | 'JOB_CANCELLED' | 'JOB_NOT_FOUND' | 'WAIT_TIMEOUT',
  what: string,
  { data = {}, cause }: { readonly data?: object; readonly cause?: unknown } = {},
): QueueError {
  return new QueueError(code, `Job ${id}, awaited as ${show(kind)}, ${what}.`, {
    data: { id, kind, ...data },
    cause,
  });
}
