/** A job as it is read: as one JSON text, so that no client's parsers and renamings come between. */
import { type SQL, sql } from 'drizzle-orm';
import { textOf } from '../database/rows.js';
import type { StoredJob } from '../words/stored-job.js';

/** A row, whatever its kind. */
export type ReadJob = StoredJob<string, unknown, unknown>;

/** The text of `job`, for {@link readJob}. */
export const jobJson: SQL = sql`pg_catalog.jsonb_build_object(
         'id',             job.id,
         'queue',          job.queue,
         'kind',           job.kind,
         'payload',        job.payload,
         'payloadVersion', job.payload_version,
         'priority',       job.priority,
         'runAt',          ${timeText(sql`job.run_at`)},
         'state',          job.state,
         'attempts',       job.attempts,
         'maxAttempts',    job.max_attempts,
         'timeoutMs',      job.timeout_ms,
         'lockedBy',       job.locked_by,
         'heartbeatAt',    ${timeText(sql`job.heartbeat_at`)},
         'startedAt',      ${timeText(sql`job.started_at`)},
         'lastError',      job.last_error,
         'errors',         job.errors,
         'dedupeKey',      job.dedupe_key,
         'meta',           job.meta,
         'result',         job.result,
         'createdAt',      ${timeText(sql`job.created_at`)},
         'finishedAt',     ${timeText(sql`job.finished_at`)})::text`;

/** A time as ISO text in UTC, or null. */
export function timeText(time: SQL): SQL {
  return sql`case when ${time} is not null then to_char(
           greatest(least(${time}, timestamptz '9999-12-31 23:59:59.999+00'), timestamptz '0001-01-01 00:00:00+00') at time zone 'utc',
           'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end`;
}

interface JobText extends Omit<ReadJob, 'runAt' | 'heartbeatAt' | 'startedAt' | 'createdAt' | 'finishedAt'> {
  readonly runAt: string;
  readonly heartbeatAt: string | null;
  readonly startedAt: string | null;
  readonly createdAt: string;
  readonly finishedAt: string | null;
}

export function readJob(text: unknown): ReadJob {
  const job: JobText = JSON.parse(textOf(text));
  return {
    ...job,
    runAt: new Date(job.runAt),
    heartbeatAt: dateOf(job.heartbeatAt),
    startedAt: dateOf(job.startedAt),
    createdAt: new Date(job.createdAt),
    finishedAt: dateOf(job.finishedAt),
  };
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
