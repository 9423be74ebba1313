/** How many no-op jobs a second one worker process gets done, each with its best settings. */
import type { ContenderSpec } from '../contenders/index.js';
import type { Stage } from '../stage.js';
import { best, boss, bullmqPostgres, bullmqRedis, graphile, ours, oursOnPg } from './lines.js';
import { count, ratioGoal, type Sample, type Scenario } from './scenario.js';

const loop = 'hand-written loop';
const asyncCommit = 'drizzle-queue, synchronous_commit off';
const sameStatements = 'loop of our statements';
const jobsOf = {
  full: { most: 60_000, slow: 2_000 },
  quick: { most: 20_000, slow: 500 },
  tiny: { most: 300, slow: 50 },
} as const;

export const drain: Scenario = {
  name: 'drain',
  title: (size) => `Drain of ${count(jobsOf[size].most)} no-op jobs in one process`,
  metrics: [{ key: 'jobsPerSecond', title: 'jobs/s' }],
  lines(size) {
    const { most, slow } = jobsOf[size];
    const line = (name: string, spec: ContenderSpec, jobs: number = most) => ({
      name,
      spec,
      run: (stage: Stage) => measureDrain(stage, spec, jobs),
    });
    return [
      line(ours, best[ours]),
      line(loop, { contender: 'loop', statements: 'plain' }),
      line(sameStatements, { contender: 'loop', statements: 'ours' }),
      line(oursOnPg, best[oursOnPg]),
      line(asyncCommit, { ...best[ours], synchronousCommit: 'off' }),
      line(graphile, best[graphile]),
      line(boss, best[boss]),
      line(bullmqPostgres, best[bullmqPostgres], slow),
      line(bullmqRedis, best[bullmqRedis]),
    ];
  },
  goals(medians) {
    const rate = (line: string) => medians(line, 'jobsPerSecond');
    const fastestLoop = Math.max(rate(loop), rate(sameStatements));
    return [
      ratioGoal('drain, of the fastest hand-written loop', rate(ours) / fastestLoop, ['at least', 0.9]),
      ratioGoal('drain, of graphile-worker with batching', rate(ours) / rate(graphile), ['at least', 2]),
      ratioGoal('drain, of pg-boss with batches', rate(ours) / rate(boss), ['at least', 2]),
    ];
  },
};

/** Warm first: the second drain of a process runs compiled code on open connections. */
export function measureDrain(
  stage: Stage,
  spec: ContenderSpec,
  jobs: number,
  warmUp = Math.ceil(jobs / 2),
): Promise<Sample> {
  return stage.fresh(spec, async ({ contender, database }) => {
    await contender.call('fill', warmUp);
    await contender.call('drain', { jobs: warmUp });
    await contender.call('fill', jobs);
    await database.settle();
    const { ms } = await contender.call('drain', { jobs });
    return { values: { jobsPerSecond: jobs / (ms / 1_000) } };
  });
}
