/** The shortest way from a commit to a handler: a hand-written loop that LISTENs, and a NOTIFY beside each insert. */
import { sql as query } from 'drizzle-orm';
import postgres from 'postgres';
import type { Contender } from './contender.js';

export function createListenLoop(url: string): Contender {
  const sql = postgres(url, { max: 2, onnotice: () => {} });
  return {
    settings: { driver: 'postgres.js' },
    async prepare() {
      await sql`create table listen_jobs (id bigint generated always as identity primary key, payload jsonb not null)`;
    },
    async work(listener) {
      const take = async () => {
        const jobs = await sql<{ payload: { n: number } }[]>`
          delete from listen_jobs
          where  id in (select id from listen_jobs order by id limit 20 for update skip locked)
          returning payload`;
        for (const { payload } of jobs) listener.job(payload.n);
      };
      const { unlisten } = await sql.listen('listen_jobs', () => void take().catch(console.error));
      return { stop: unlisten };
    },
    async enqueueIn(tx, n) {
      await tx.execute(query`
        with inserted as (insert into listen_jobs (payload) values (${JSON.stringify({ n })}::text::jsonb) returning id)
        select pg_notify('listen_jobs', '') from inserted`);
    },
    async end() {
      await sql.end({ timeout: 5 });
    },
  };
}
