/**
 * The loop that somebody would write by hand on postgres.js, with the fence and the order of the library and nothing
 * else: the limit of what a worker can reach. It finishes one batch while it claims the next.
 */
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import { readMigrations } from '../../support/migrations.js';
import type { Contender } from './contender.js';
import { ourStatements, plainStatements } from './loop-statements.js';
import { createPlainInsert } from './plain-insert.js';

export interface LoopOptions {
  /** `plain`: the shortest that will do; `ours`: the very text that the library sends. */
  readonly statements: 'plain' | 'ours';
  /** Jobs claimed at once. @default 1_000 */
  readonly batch?: number | undefined;
}

export function createLoop(url: string, { statements, batch = 1_000 }: LoopOptions): Contender {
  const inserts = createPlainInsert(url, {});
  const sql = postgres(url, { max: 2, onnotice: () => {} });
  const { claim, finish } = statements === 'ours' ? ourStatements(sql) : plainStatements(sql);

  return {
    settings: { driver: 'postgres.js', statements, batch, prepared: true },
    async prepare() {
      for (const migration of await readMigrations()) await sql.unsafe(migration);
    },
    fill: async (jobs, options) => inserts.fill?.(jobs, options),
    async work(listener) {
      let stopped = false;
      const loop = (async () => {
        let finished: Promise<unknown> = Promise.resolve();
        for (let claims = 1; !stopped; claims++) {
          const lockedBy = `loop/${claims}`;
          const began = performance.now();
          const jobs = await claim(lockedBy, batch);
          const tookMs = performance.now() - began;
          await finished;
          if (jobs.length === 0) {
            await delay(5);
            continue;
          }
          listener.claimed(tookMs, jobs.length);
          for (const { payload } of jobs) listener.job(payload.n);
          finished = finish(lockedBy, jobs);
        }
        await finished;
      })();
      return {
        stop: () => {
          stopped = true;
          return loop;
        },
      };
    },
    async unfinished() {
      const [row] = await sql<
        { any: boolean }[]
      >`select exists (select from jobs where state in ('available', 'running')) as any`;
      return row?.any ?? false;
    },
    async end() {
      await Promise.all([inserts.end(), sql.end({ timeout: 5 })]);
    },
  };
}
