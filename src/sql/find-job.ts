/** One job, by its id. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { rows } from '../database/rows.js';
import type { TableName } from '../database/table-name.js';
import { jobJson, type ReadJob, readJob } from './job-json.js';

export async function findJob(db: Executor, jobs: TableName, id: number): Promise<ReadJob | undefined> {
  const [row] = await rows(
    db,
    sql`
select ${jobJson} as job
from   ${jobs} as job
where  job.id = ${id}::bigint`,
  );
  return row && readJob(row['job']);
}
