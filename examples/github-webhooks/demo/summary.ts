/** The table at the end. */
import { sql } from 'drizzle-orm';
import type { Db } from '../database.js';
import { claimEnds, jobs } from '../schema.js';
import { deliveredTwice, type Promised, type Seen } from './audit.js';
import { countJobs } from './progress.js';

export async function summary(db: Db, seen: Seen): Promise<string> {
  const counts = await countJobs(db);
  const left = counts.waiting + counts.retrying + counts.running;
  const told = (how: string) => db.$count(claimEnds, sql`${claimEnds.how} = ${how}`);
  return [
    line('events committed', seen.accepted.size),
    line('events rolled back', seen.failed.size),
    line('jobs run', counts.completed + counts.discarded),
    line('attempts retried', await told('failed'), 'the sink was down for a moment'),
    line('jobs rescued', await told('rescued'), 'from the worker that was killed'),
    line('delivered twice', deliveredTwice(seen.received).length, 'because of the kill'),
    line('jobs discarded', counts.discarded, await reasons(db)),
    line('jobs left', left),
  ].join('\n');
}

export function promises(list: readonly Promised[]): string {
  return list
    .flatMap(({ promise, broken }) => [
      `${broken.length === 0 ? '✓' : '✗'} ${promise}`,
      ...broken.map((one) => `    ${one}`),
    ])
    .join('\n');
}

function line(what: string, count: number, note?: string): string {
  return `  ${what.padEnd(20)}${String(count).padStart(5)}${note && count > 0 ? `   ${note}` : ''}`;
}

async function reasons(db: Db): Promise<string> {
  const rows = await db
    .select({
      reason: sql<string>`substring(${jobs.lastError} from '^(?:Discard: )?([^\n]*)')`,
      count: sql<number>`count(*)::int`,
    })
    .from(jobs)
    .where(sql`${jobs.state} = 'discarded'`)
    .groupBy(sql`1`);
  return rows.map(({ reason, count }) => (rows.length > 1 ? `${count}: ${reason}` : reason)).join('; ');
}
