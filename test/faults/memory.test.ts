/** What a process holds after many jobs, and after many workers: no more than after the first ones. */
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { until } from '../support/until.js';
import { useProcesses } from '../support/worker-process.js';
import type { Config as CyclesConfig, Message as CyclesMessage } from './programs/cycles.js';
import type { Held } from './programs/held.js';
import type { Config, Message } from './programs/noop.js';
import { scenario } from './scenario.js';
import { isLong, size } from './size.js';
import { useStage } from './stage.js';

const createStage = useStage();
const processes = useProcesses();
const program = (name: string) => fileURLToPath(new URL(`./programs/${name}.ts`, import.meta.url));
const timeoutMs = isLong ? 600_000 : 120_000;

const jobs = isLong ? 500_000 : 50_000;
const samples = 25;
const cycles = isLong ? 100 : 30;
/** Pools grow slowly, and timers come and go; a leak of one each time is more. */
const allowed = { timers: 5, sockets: 5, listeners: 0 };

describe.each(['postgres.js', 'node-postgres'] as const)('on %s', (driver) => {
  it(`${jobs} jobs that do nothing, in a heap of 128 MB`, { timeout: timeoutMs }, async ({ task }) => {
    const stage = await createStage();
    await stage.sql`
      insert into jobs (kind, payload)
      select 'work', jsonb_build_object('n', n, 'ms', 0, 'how', 'plain') from generate_series(1, ${jobs}::int) as n`;
    await stage.sql`vacuum analyze jobs`;
    const config: Config = { ...stage.config({ driver, slots: 200 }), jobs, every: jobs / samples };
    const nodeOptions = ['--max-old-space-size=128', '--expose-gc'];
    const child = processes.start<Message>(program('noop'), config, nodeOptions);
    expect(await child.exit, child.output()).toEqual({ code: 0, signal: null });

    const [end] = await stage.sql`
      select count(distinct n)::int as done, (count(*) - count(distinct (job, locked_by)))::int as twice from ends`;
    const [lost, doubleFinished] = [jobs - Number(end?.['done']), Number(end?.['twice'])];
    task.meta.line = { jobs, faults: 0, lost, doubleFinished, overlaps: 0, againMs: 0, orphansMs: 0 };
    expect([lost, doubleFinished]).toEqual([0, 0]);
    expect(child.messages.filter((message) => message.event === 'warning')).toEqual([]);
    const taken = child.messages.filter((message) => message.event === 'sample');
    expect(taken).toHaveLength(samples);
    expectFlat(taken);
    // The least of several: a sample holds also what is on its way.
    const [first, last] = ends(taken).map((some) => Math.min(...some.map(({ heapBytes }) => heapBytes)));
    expect(Number(last) - Number(first)).toBeLessThan(2_000_000);
  });

  scenario(
    `${cycles} workers one after the other over one pool`,
    createStage,
    async (stage) => {
      await stage.enqueue(size.jobs, { ms: 20 });
      const config: CyclesConfig = {
        ...stage.config({ driver, slots: 5 }),
        cycles,
        longestMs: 100,
        graces: [1_000],
      };
      const child = processes.start<CyclesMessage>(program('cycles'), config, ['--expose-gc']);
      let connections = 0;
      await until(
        async () => {
          const [row] = await stage.sql`
            select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'worker'`;
          connections = Math.max(connections, Number(row?.['n']));
          return child.exited();
        },
        { what: 'the end of the process', timeoutMs: timeoutMs / 2 },
      );
      expect(child.exited(), child.output()).toEqual({ code: 0, signal: null });
      expect(child.messages.filter((message) => message.event === 'warning')).toEqual([]);
      const stops = child.messages.filter((message) => message.event === 'stopped');
      expect(stops).toHaveLength(cycles);
      expectFlat(stops);
      const kept = child.messages.find((message) => message.event === 'kept');
      expect(kept?.workers).toBeLessThanOrEqual(5); // the last ones, by timers and sockets on their way out
      expect(connections).toBeLessThanOrEqual(config.pool + 2); // beside the pool: a session each, and one that ends
      await stage.startWorker();
      return cycles;
    },
    { timeoutMs },
  );
});

/** The first and the last third, after a warm-up: code is compiled, connections are made. */
function ends<Sample>(all: readonly Sample[]): readonly [readonly Sample[], readonly Sample[]] {
  const warm = all.slice(Math.ceil(all.length / 4));
  const third = Math.floor(warm.length / 3);
  return [warm.slice(0, third), warm.slice(-third)];
}

function expectFlat(all: readonly Held[]): void {
  const [first, last] = ends(all);
  for (const what of ['timers', 'sockets', 'listeners'] as const) {
    const most = (some: readonly Held[]) => Math.max(...some.map((held) => held[what]));
    expect(most(last), what).toBeLessThanOrEqual(most(first) + allowed[what]);
  }
}
