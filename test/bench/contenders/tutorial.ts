/**
 * The queue of the tutorials: a table with an index, some workers that claim twenty jobs each and delete them one by one.
 */
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import { type Contender, parts } from './contender.js';

export interface TutorialOptions {
  /** Loops in the process, each on a connection of its own. */
  readonly workers: number;
  /** Jobs claimed at once by each. */
  readonly batch: number;
}

export function createTutorial(url: string, { workers, batch }: TutorialOptions): Contender {
  const sql = postgres(url, { max: workers, onnotice: () => {} });
  return {
    settings: { driver: 'postgres.js', workers, batch },
    async prepare() {
      await sql`
        create table tutorial_jobs (
          id bigint generated always as identity primary key,
          payload jsonb not null,
          status text not null default 'pending',
          run_at timestamptz not null default now())`;
      await sql`create index on tutorial_jobs (run_at) where status = 'pending'`;
    },
    async fill(jobs) {
      for (const part of parts(jobs, 5_000)) {
        const list = JSON.stringify(part.map((n) => ({ n })));
        await sql`insert into tutorial_jobs (payload) select * from jsonb_array_elements(${list}::text::jsonb)`;
      }
    },
    async work(listener) {
      let stopped = false;
      const loop = async () => {
        while (!stopped) {
          const began = performance.now();
          const jobs = await sql<{ id: string; payload: { n: number } }[]>`
            update tutorial_jobs set status = 'running'
            where  id in (
              select id from tutorial_jobs
              where  status = 'pending' and run_at <= now()
              order  by run_at
              limit  ${batch}
              for update skip locked)
            returning id, payload`;
          if (jobs.length === 0) await delay(5);
          else listener.claimed(performance.now() - began, jobs.length);
          for (const { id, payload } of jobs) {
            listener.job(payload.n);
            await sql`delete from tutorial_jobs where id = ${id}`;
          }
        }
      };
      const loops = Promise.all(Array.from({ length: workers }, loop));
      return {
        stop: async () => {
          stopped = true;
          await loops;
        },
      };
    },
    async unfinished() {
      const [row] = await sql<{ any: boolean }[]>`select exists (select from tutorial_jobs) as any`;
      return row?.any ?? false;
    },
    async end() {
      await sql.end({ timeout: 5 });
    },
  };
}
