/**
 * The `claim` move for one job that a worker was told of, while it had nothing else to do: by its id, without a look at the
 * queue. Half of what a claim takes that walks the priorities and tells about itself.
 */
import { type SQL, sql } from 'drizzle-orm';
import { compiled } from '../database/compiled.js';
import type { Executor } from '../database/executor.js';
import { rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { type ClaimedJob, jobOf } from './claim.js';
import { isServed, type Served, servedValues } from './claim-next.js';

export interface ToldClaim extends Served {
  readonly id: number;
  readonly queue: string;
  /** `<worker>/<n>`, never used before. */
  readonly lockedBy: string;
}

/**
 * Claims the job if it is due, one that this worker can run, on this queue, and nobody holds it; undefined where it is not so, as for a
 * job that somebody else was faster at. Never waits for its row.
 */
export async function claimTold(
  db: Executor,
  jobs: TableName,
  told: ToldClaim,
): Promise<ClaimedJob | undefined> {
  const [row] = await rows(db, claimToldStatement(jobs, told));
  return row && jobOf(row, told.lockedBy);
}

/** The very statement that {@link claimTold} sends; the plan tests explain it. */
export function claimToldStatement(jobs: TableName, { id, queue, lockedBy, ...served }: ToldClaim): SQL {
  const statement = statementOf.get(jobs) ?? compiled((value) => claimToldSql(jobs, value));
  statementOf.set(jobs, statement);
  return statement({ id, queue, lockedBy, ...servedValues(served) });
}

type ToldValue = 'id' | 'queue' | 'kinds' | 'versions' | 'lockedBy';

const statementOf = new WeakMap<TableName, ReturnType<typeof compiled<ToldValue>>>();

function claimToldSql(jobs: TableName, value: (name: ToldValue) => SQL): SQL {
  return sql`
update ${jobs} as job
set    state        = 'running',
       locked_by    = ${value('lockedBy')},
       heartbeat_at = clock_timestamp(),
       started_at   = clock_timestamp(),
       attempts     = least(job.attempts, 2147483646) + 1  -- one row out of range would fail the claim
where  job.id = (
         select told.id
         from   ${jobs} as told
         where  told.id = ${value('id')}::bigint and told.state = 'available' and told.queue = ${value('queue')}::text
           and  told.run_at <= now() and ${isServed(sql`told`, value)}
         for update skip locked
       )
-- "maxAttempts", and json as text: a client may rename columns, and keys in json as well (postgres.js has transforms)
returning job.id, job.queue, job.kind, job.payload::text, job.attempts, job.max_attempts as "maxAttempts",
          job.payload_version as "payloadVersion", job.timeout_ms as "timeoutMs", job.meta::text`;
}
