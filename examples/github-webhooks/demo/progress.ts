/** How far the demo is: one line that is written over in a terminal, else a line every two seconds. */
import { sql } from 'drizzle-orm';
import type { Db } from '../database.js';
import { eventJobs, jobs } from '../schema.js';

export interface JobCounts {
  /** Enqueued by a committed event, and without a row now. */
  readonly completed: number;
  readonly waiting: number;
  /** Waiting for another attempt. */
  readonly retrying: number;
  readonly running: number;
  readonly discarded: number;
}

export async function countJobs(db: Db): Promise<JobCounts> {
  const count = (condition: ReturnType<typeof sql>) =>
    sql<number>`(count(*) filter (where ${condition}))::int`;
  const [counts] = await db
    .select({
      completed: sql<number>`(select count(*) from ${eventJobs})::int - count(*)::int`,
      waiting: count(sql`${jobs.state} = 'available' and ${jobs.attempts} = 0`),
      retrying: count(sql`${jobs.state} = 'available' and ${jobs.attempts} > 0`),
      running: count(sql`${jobs.state} = 'running'`),
      discarded: count(sql`${jobs.state} = 'discarded'`),
    })
    .from(jobs);
  if (!counts) throw new Error('A count gave no row.');
  return counts;
}

export interface Progress {
  /** Writes a line that stays. */
  say(line: string): void;
  stop(): Promise<void>;
}

export function showProgress(look: () => Promise<string>, out = process.stdout): Progress {
  const over = out.isTTY ? '\r\x1b[K' : '';
  let stopped = false;
  let looking = Promise.resolve();
  const timer = setInterval(
    () => {
      looking = looking.then(show).catch(() => {}); // a look that fails is only a line less
    },
    out.isTTY ? 500 : 2_000,
  );

  async function show(): Promise<void> {
    const line = await look();
    if (!stopped) out.write(out.isTTY ? `${over}${line.slice(0, out.columns - 1)}` : `${line}\n`);
  }

  return {
    say: (line) => void out.write(`${over}${line}\n`),
    async stop() {
      stopped = true;
      clearInterval(timer);
      await looking;
      out.write(over);
    },
  };
}
